package migrations

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rule for migrations is expand, then contract (docs/upgrade.md): processes of the previous
// release keep using their statements, and no large table is locked for as long as it takes to read
// it. This file reads the SQL of the migrations from ruledFrom on; earlier ones were released
// before the rule existed.

const ruledFrom = "00029"

// large are tables that grow with the calls.
var large = []string{"attempts", "contacts", "legs", "events", "event_batches", "sip_ladders", "recordings",
	"idempotency", "number_holds", "contact_runs", "contact_variables", "import_rejected", "exclusions", "suppressions",
	"webhook_messages", "webhook_deliveries", "webhook_callbacks"}

// excepted are statements that break the rule deliberately, by file and beginning, with the reason.
var excepted = map[string]string{
	"00050_facts.sql: UPDATE contacts SET last_conversation": "an index gives those whose result is awaited, " +
		"and another their calls",
	"00075_persons.sql: CREATE TRIGGER contact_numbers": "they run for contacts with several numbers, which the " +
		"release before does not write",
	"00086_search.sql: CREATE TRIGGER contact_search": "they repeat rows in a table of their own, which the release " +
		"before does not know",
	"00062_due_lanes.sql: DROP INDEX CONCURRENTLY": "no release has the index contacts_due_order",
}

var (
	comment   = regexp.MustCompile(`(?m)--[^\n]*$`)
	body      = regexp.MustCompile(`(?is)\bAS \$body\$.*?\$body\$`) // of a function, which runs later
	createsOf = regexp.MustCompile(`(?i)^CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	alters    = regexp.MustCompile(`(?i)^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\w+) (.*)`)
	indexOn   = regexp.MustCompile(`(?i)^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?.*\bON (?:ONLY )?(\w+)`)
	changes   = regexp.MustCompile(`(?i)^(?:UPDATE|DELETE FROM|INSERT INTO|TRUNCATE(?: TABLE)?|LOCK TABLE|CLUSTER|` +
		`VACUUM|REINDEX TABLE) (?:ONLY )?(\w+)`)
	reads      = regexp.MustCompile(`(?i)\bFROM (\w+)`)
	triggerOn  = regexp.MustCompile(`(?i)^CREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER .*\bON (\w+)`)
	takesAway  = regexp.MustCompile(`(?i)^DROP (TABLE|INDEX|VIEW|SEQUENCE|TYPE|FUNCTION|SCHEMA|TRIGGER)\b`)
	constraint = regexp.MustCompile(`(?i)\b(CHECK|FOREIGN KEY|REFERENCES|UNIQUE|PRIMARY KEY|EXCLUDE)\b`)
	volatile   = regexp.MustCompile(`(?i)\bDEFAULT\b.*\b(random|gen_random_uuid|clock_timestamp|nextval|uuidv7)\(`)
)

// broken lists what in a migration breaks the rule.
func broken(sql string) (wrong []string) {
	up, _, _ := strings.Cut(sql, "-- +goose Down")
	inTransaction := !strings.Contains(up, "-- +goose NO TRANSACTION")
	fresh := map[string]bool{} // tables created by this migration
	for statement := range strings.SplitSeq(body.ReplaceAllString(comment.ReplaceAllString(up, ""), ""), ";") {
		s := strings.Join(strings.Fields(statement), " ")
		report := func(why string) { wrong = append(wrong, fmt.Sprintf("%.120s: %s", s, why)) }
		if m := createsOf.FindStringSubmatch(s); m != nil {
			fresh[m[1]] = true
			continue
		}
		old := func(table string) bool { return slices.Contains(large, table) && !fresh[table] }
		if takesAway.MatchString(s) {
			report("takes away what the release before may use; leave it to the release after the one that does without it")
		}
		if m := alters.FindStringSubmatch(s); m != nil && !fresh[m[1]] {
			for _, why := range alteration(m[2], old(m[1])) {
				report(why)
			}
		}
		if m := indexOn.FindStringSubmatch(s); m != nil && old(m[2]) && (m[1] == "" || inTransaction) {
			report("keeps everybody from writing while the index is made; CREATE INDEX CONCURRENTLY in a change with -- " +
				"+goose NO TRANSACTION")
		}
		if m := changes.FindStringSubmatch(s); m != nil {
			if old(m[1]) {
				report("goes through a large table in one transaction; fill it in parts, by the program")
			}
			for _, from := range reads.FindAllStringSubmatch(s, -1) {
				if old(from[1]) && from[1] != m[1] {
					report("reads a large table while locks are held; fill it in parts, by the program")
				}
			}
		}
		if m := triggerOn.FindStringSubmatch(s); m != nil && !fresh[m[1]] {
			report("changes what the statements of the release before do")
		}
	}
	return wrong
}

// alteration lists what is wrong with a change of an existing table.
func alteration(what string, isLarge bool) (wrong []string) {
	upper := strings.ToUpper(what)
	has := func(text string) bool { return strings.Contains(upper, text) }
	if has("DROP ") && !has("DROP NOT NULL") && !has("DROP DEFAULT") {
		wrong = append(wrong, "takes away what the release before may use; leave it to the release after the one that "+
			"does without it")
	}
	if has("RENAME ") {
		wrong = append(wrong, "renames what the release before uses; add another one and fill it")
	}
	if regexp.MustCompile(`\bTYPE\b`).MatchString(upper) {
		wrong = append(wrong, "changes a type: the table is written anew, and the release before knows the old one; add "+
			"another column")
	}
	if has("SET NOT NULL") {
		wrong = append(wrong, "the release before writes no value, and the table is read under its lock; add a CHECK that "+
			"is NOT VALID")
	}
	if has("ADD COLUMN") {
		if has("NOT NULL") && !has("DEFAULT") {
			wrong = append(wrong, "the release before writes no value for the new column; give it a default")
		}
		if volatile.MatchString(what) {
			wrong = append(wrong, "the default is another one for each row: the table is written anew; add the column "+
				"without, and fill it")
		}
	}
	if constraint.MatchString(what) && has("ADD ") && !has("NOT VALID") {
		switch {
		case isLarge:
			wrong = append(wrong, "reads the table under its lock; add the constraint NOT VALID, and validate it in a change "+
				"of its own")
		case !has("ADD COLUMN"):
			wrong = append(wrong, "the release before may write what the constraint refuses; add it in the release after")
		}
	}
	return wrong
}

func TestChangesOfTheSchemaLeaveTheReleaseBeforeAtWork(t *testing.T) {
	files, err := fs.Glob(FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	used, checked, tables := map[string]bool{}, 0, map[string]bool{}
	for _, name := range files {
		sql, err := fs.ReadFile(FS, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`CREATE TABLE (?:IF NOT EXISTS )?(\w+)`).FindAllSubmatch(sql, -1) {
			tables[string(m[1])] = true
		}
		if name < ruledFrom {
			continue
		}
		checked++
	wrong:
		for _, why := range broken(string(sql)) {
			for exception, reason := range excepted {
				file, begins, _ := strings.Cut(exception, ": ")
				if file == name && strings.HasPrefix(why, begins) && reason != "" {
					used[exception] = true
					continue wrong
				}
			}
			t.Errorf("%s: %s", name, why)
		}
	}
	for exception := range excepted {
		if !used[exception] {
			t.Errorf("the exception %q is not needed", exception)
		}
	}
	for _, table := range large {
		if !tables[table] {
			t.Errorf("%q is no table", table)
		}
	}
	if checked == 0 {
		t.Error("no change was checked")
	}
}

// A violation of the rule is found; a compliant change is not reported.
func TestTheRuleOfChangesFindsWhatBreaksIt(t *testing.T) {
	for sql, want := range map[string]int{
		"CREATE TABLE things (id text PRIMARY KEY); CREATE INDEX things_id ON things (id); INSERT INTO things VALUES " +
			"('a'); ALTER TABLE things ADD CHECK (id <> '')": 0,
		"ALTER TABLE attempts ADD COLUMN note text":                                                            0,
		"ALTER TABLE attempts ADD COLUMN IF NOT EXISTS n integer NOT NULL DEFAULT 0":                           0,
		"ALTER TABLE attempts ALTER COLUMN note DROP NOT NULL":                                                 0,
		"ALTER TABLE attempts ADD CONSTRAINT c CHECK (n > 0) NOT VALID":                                        0,
		"-- +goose NO TRANSACTION\nCREATE INDEX CONCURRENTLY attempts_n ON attempts (n)":                       0,
		"ALTER TABLE bots ADD COLUMN note text -- DROP TABLE bots;\n":                                          0,
		"UPDATE bots SET name = ''":                                                                            0,
		"CREATE INDEX CONCURRENTLY attempts_n ON attempts (n)":                                                 1,
		"CREATE UNIQUE INDEX contacts_n ON contacts (n)":                                                       1,
		"ALTER TABLE attempts DROP COLUMN note":                                                                1,
		"ALTER TABLE attempts RENAME COLUMN a TO b":                                                            1,
		"ALTER TABLE bots RENAME TO robots":                                                                    1,
		"DROP TABLE bots":                                                                                      1,
		"DROP INDEX attempts_to":                                                                               1,
		"ALTER TABLE attempts ALTER COLUMN n TYPE bigint":                                                      1,
		"ALTER TABLE attempts ALTER COLUMN n SET NOT NULL":                                                     1,
		"ALTER TABLE attempts ADD COLUMN n integer NOT NULL":                                                   1,
		"ALTER TABLE attempts ADD COLUMN id uuid DEFAULT gen_random_uuid()":                                    1,
		"ALTER TABLE attempts ADD COLUMN node integer REFERENCES nodes":                                        1,
		"ALTER TABLE attempts ADD CONSTRAINT c CHECK (n > 0)":                                                  1,
		"ALTER TABLE bots ADD CONSTRAINT c CHECK (n > 0)":                                                      1,
		"UPDATE attempts SET n = 1":                                                                            1,
		"DELETE FROM events":                                                                                   1,
		"CREATE TABLE sums (n bigint); INSERT INTO sums SELECT count(*) FROM attempts":                         1,
		"CREATE FUNCTION f() RETURNS trigger AS $body$ BEGIN DELETE FROM events; END $body$; DELETE FROM bots": 0,
		"DO $body$ BEGIN UPDATE bots SET name = ''; DELETE FROM events; END $body$":                            1,
		"CREATE TRIGGER t BEFORE INSERT ON attempts EXECUTE FUNCTION f()":                                      1,
		"ALTER TABLE attempts DROP COLUMN a -- +goose Down\n":                                                  1,
		"ALTER TABLE attempts ADD COLUMN a text;\n-- +goose Down\nALTER TABLE attempts DROP COLUMN a":          0,
	} {
		if got := broken(sql); len(got) != want {
			t.Errorf("%s\nfound %q, want %d", sql, got, want)
		}
	}
}
