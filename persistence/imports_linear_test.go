package persistence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// The switch of an import costs the same per row, however many rows and exclusions there are, and
// whether or not the server has analysed the file's rows. The test counts the rows read, and checks
// that the plans of its statements, taken where and when they run, never scan one table for each
// row of another.
func TestTheSwitchOfAnImportIsLinearInItsRows(t *testing.T) {
	t.Parallel()
	for _, how := range []switching{{}, {analysed: true}, {analysed: true, dry: true}} {
		few, many := switched(t, 500, how), switched(t, 2000, how)
		t.Logf("%+v: %.1f rows are read for each of 500, %.1f for each of 2,000", how, few, many)
		if few < 1 || many > 1.5*few+2 {
			t.Errorf("%+v: %.1f rows are read for each of 500, %.1f for each of 2,000", how, few, many)
		}
	}
}

// Every few seconds rows that nobody will activate are looked for, also while a file is being imported.
func TestWhoLooksForOrphanedRowsDoesNotReadThoseOfAnOpenImport(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	plans := &indexPlans{t: t, about: []string{"WITH RECURSIVE staged"}, table: "import_rows",
		index: "import_rows_pkey",
		busy:  true}
	s := storetest.OpenAt(t, url, persistence.Config{Tracer: plans})
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", State: campaign.Draft, Version: 1, Run: 1,
		CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	imp := campaign.Import{ID: engine.ImportID(hexID()), Campaign: "cmp_1", CreatedAt: time.Now()}
	if err := s.BeginImport(t.Context(), imp); err != nil {
		t.Fatal(err)
	}
	staged := make([]journal.StagedRow, 3000)
	for i := range staged {
		staged[i] = journal.StagedRow{ID: engine.ContactID(hexID()), Line: i + 2,
			NewContact: campaign.NewContact{Number: engine.PhoneNumber(fmt.Sprintf("+49151%08d", i))}}
	}
	if err := s.StageImport(t.Context(), imp.ID, staged, nil, len(staged), 0); err != nil {
		t.Fatal(err)
	}
	run(t, url, "ANALYZE import_rows")
	plans.busy = false // from now on
	if _, err := s.CloseOrphanedImports(t.Context(), time.Now()); err != nil || plans.read != 1 {
		t.Fatalf("%v, %d plans", err, plans.read)
	}
}

type switching struct{ analysed, dry bool }

// switched activates a file with duplicates, suppressed and excluded numbers and exclusions by
// metadata, on a schema of its own, and returns how many rows are read for each of its rows.
func switched(t *testing.T, rows int, how switching) float64 {
	t.Helper()
	url, plans := storetest.URL(t), &planReader{t: t}
	s := storetest.OpenAt(t, url, persistence.Config{Tracer: plans})
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", State: campaign.Running, Version: 1, Run: 1,
		CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	number := func(i int) engine.PhoneNumber { return engine.PhoneNumber(fmt.Sprintf("+49151%08d", i)) }
	var x []journal.Exclusion
	for i := range rows / 20 {
		x = append(x, journal.Exclusion{Campaign: c.ID, Number: number(20 * i), CreatedAt: time.Now()},
			journal.Exclusion{Campaign: c.ID, Match: map[string]string{"account": fmt.Sprint(20*i + 1)}, CreatedAt: time.Now()})
		for j := range 3 { // matching nobody in the file
			x = append(x, journal.Exclusion{Campaign: c.ID, Match: map[string]string{"account": fmt.Sprint(-3*i - j - 1)},
				CreatedAt: time.Now()})
		}
	}
	if refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch,
		Exclusions: x}}); err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	var suppressed []engine.PhoneNumber
	for i := range rows / 20 {
		suppressed = append(suppressed, number(20*i+2))
	}
	if _, err := s.Suppress(t.Context(), suppressed, "import", engine.System); err != nil {
		t.Fatal(err)
	}
	imp := campaign.Import{ID: engine.ImportID(hexID()), Campaign: c.ID, CreatedAt: time.Now(), DryRun: how.dry}
	if err := s.BeginImport(t.Context(), imp); err != nil {
		t.Fatal(err)
	}
	staged := make([]journal.StagedRow, rows)
	for i := range staged {
		of := i
		if i%20 == 19 {
			of = i - 1 // the number of the previous row
		}
		staged[i] = journal.StagedRow{ID: engine.ContactID(hexID()), Line: i + 2,
			NewContact: campaign.NewContact{Number: number(of),
				Variables: map[string]string{"first_name": "Ada", "account": fmt.Sprint(i)}}}
	}
	if err := s.StageImport(t.Context(), imp.ID, staged, nil, rows, 0); err != nil {
		t.Fatal(err)
	}
	if how.analysed { // as autovacuum does sooner or later
		run(t, url, "ANALYZE import_rows")
	}
	before := rowsRead(t, url)
	plans.on = true
	var done campaign.Import
	if how.dry {
		done, err = s.CheckImport(t.Context(), journal.Check{Import: imp.ID, Campaign: c.ID, Staged: rows, Sticky: true,
			Since: imp.CreatedAt, At: time.Now()})
	} else {
		var out journal.Activated
		out, err = s.ActivateImport(t.Context(), journal.Activation{Import: imp.ID, Campaign: c.ID, Run: 1, Source: "csv",
			Max: 3, DueClass: contact.DueFirst,
			At: time.Now(), Staged: rows, Sticky: true, Since: imp.CreatedAt}, func(context.Context) (journal.Gate, error) {
			return journal.Gate{Epoch: c.Epoch, Event: journal.Event{Campaign: c.ID, Seq: c.Seq + 1, Run: 1, At: time.Now(),
				Type: journal.ContactsAdded, Version: 1}}, nil
		})
		done = out.Import
	}
	if err != nil || done.Added != rows-4*rows/20 || done.Duplicate != rows/20 || done.Excluded != 3*rows/20 {
		t.Fatalf("%+v, %v", done, err)
	}
	plans.on = false
	if plans.read == 0 {
		t.Error("no statement of the switch has told its plan")
	}
	ended := importSession(t, url)
	if err := s.CloseImport(t.Context(), imp.ID); err != nil {
		t.Fatal(err)
	}
	ended() // by then it has reported its statistics
	return float64(rowsRead(t, url)-before) / float64(rows)
}

// importSession finds the session of the schema's import; ended waits for it to end.
func importSession(t *testing.T, url string) (ended func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	var pid int32
	if err := conn.QueryRow(t.Context(), `SELECT l.pid FROM pg_locks l, imports i WHERE l.locktype = 'advisory'
		AND (l.classid::bigint << 32 | l.objid::bigint) =
			hashtextextended(current_schema() || '.import.' || i.id::text, 0)`).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		for there := true; there; {
			if err := conn.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $1",
				pid).Scan(&there); err != nil {
				t.Fatal(err)
			}
			// It polls a condition.
			if _, err := conn.Exec(t.Context(), "SELECT pg_stat_clear_snapshot(), pg_sleep(0.02)"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rowsRead counts the rows read from the tables that an import touches. Sessions report their
// figures when they end or idle, so it waits until they stop changing.
func rowsRead(t *testing.T, url string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for last, same := int64(-1), 0; same < 5; {
		err := conn.QueryRow(t.Context(), `SELECT
				coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint
			FROM pg_stat_user_tables
			WHERE schemaname = current_schema() AND relname IN ('import_rows', 'import_exclusions', 'import_rejected',
				'exclusions', 'suppressions', 'contacts', 'contact_variables')`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if same++; n != last {
			last, same = n, 0
		}
		// It polls a condition.
		if _, err := conn.Exec(t.Context(), "SELECT pg_stat_clear_snapshot(), pg_sleep(0.05)"); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// planReader gets the plan of each statement on the rows of a file, on its connection and in its
// transaction, right before the statement runs.
type planReader struct {
	t    *testing.T
	on   bool
	read int
}

type plan struct {
	Node  string `json:"Node Type"`
	Table string `json:"Relation Name"`
	CTE   string `json:"CTE Name"`
	Index string `json:"Index Cond"`
	Parts []plan `json:"Plans"`
}

func (p *planReader) TraceQueryStart(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if !p.on || !strings.Contains(q.SQL, "import_rows") {
		return ctx
	}
	p.on = false // the question itself
	defer func() { p.on = true }()
	var text string
	var found []struct{ Plan plan }
	err := conn.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+q.SQL, q.Args...).Scan(&text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &found)
	}
	if err != nil || len(found) != 1 {
		p.t.Errorf("no plan of %s: %v", q.SQL, err)
		return ctx
	}
	p.read++
	if whole := found[0].Plan.repeated(); whole != "" {
		p.t.Errorf("%s is read for each row of another table:\n%s\n%s", whole, q.SQL, text)
	}
	return ctx
}

func (p *planReader) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// ofAnother matches a condition on the current row of the other side of a join.
var ofAnother = regexp.MustCompile(`= \w+\.\w`)

// repeated names what a nested loop reads in full for each row of its other side.
func (n *plan) repeated() string {
	if n.Node == "Nested Loop" && len(n.Parts) == 2 {
		inner := &n.Parts[1]
		for inner.Node == "Materialize" || inner.Node == "Memoize" {
			inner = &inner.Parts[0]
		}
		switch {
		case inner.CTE == "base": // one row
		case inner.CTE != "", inner.Table != "" && !ofAnother.MatchString(inner.Index):
			return inner.Table + inner.CTE
		}
	}
	for i := range n.Parts {
		if whole := n.Parts[i].repeated(); whole != "" {
			return whole
		}
	}
	return ""
}
