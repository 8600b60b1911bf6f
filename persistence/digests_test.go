package persistence_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/chain"
	"dialler/engine/contact"
	"dialler/engine/enginetest"
	"dialler/engine/journal"
	"dialler/engine/webhook"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
	"dialler/persistence/table"
)

var ada = engine.Who{User: "u1", Name: "ada@example.org"}

// writeAll writes rows of every part, with as many columns filled as there are.
func writeAll(t *testing.T, s *persistence.Store, url string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	writeHistory(t, s, "cmp_1", true)
	imported(t, s, "cmp_2", 5)
	c, err := s.AcquireCampaign(ctx, "cmp_2")
	must(err)
	a := enginetest.Filled[attempt.Attempt]()
	k := enginetest.Filled[contact.Contact]()
	k.ID, k.Campaign, k.Attempt, k.Number, k.Run = engine.ContactID(hexID()), c.ID, "", "+4915155555555", 1
	k.LastConversation, k.CallbackOf = engine.AttemptID(hexID()), engine.AttemptID(hexID())
	k.CallsBack = engine.AttemptID(hexID())
	a.ID, a.Campaign, a.Contact, a.Run, a.To = engine.AttemptID(hexID()), c.ID, k.ID, 1, k.Number
	a.State, a.Legs, a.Peers = attempt.Ended, []attempt.Leg{enginetest.Filled[attempt.Leg]()}, nil
	a.Legs[0].ID = a.ID.Leg(1)
	outside := a
	outside.ID, outside.Campaign, outside.Contact, outside.To = engine.AttemptID(hexID()), "", "", "+4915166666666"
	outside.Legs = nil
	now := time.Now()
	refused, err := s.Commit(ctx, []journal.Write{
		{Campaign: c.ID, Epoch: c.Epoch, Contacts: []contact.Contact{k}, Attempts: []attempt.Attempt{a},
			Exclusions: []journal.Exclusion{
				{Campaign: c.ID, Number: "+4915177777777", Reason: "asked", CreatedAt: now},
				{Campaign: c.ID, Match: map[string]string{"plan": "gold"}, Reason: "asked", CreatedAt: now},
			}},
		{Attempts: []attempt.Attempt{outside}, Suppressions: []journal.Suppression{
			{Number: outside.To, Reason: "opt_out", CreatedAt: now}}},
	})
	must(err)
	if refused[0] != nil || refused[1] != nil {
		t.Fatal(refused)
	}
	bot := enginetest.Filled[engine.Bot]()
	bot.ID = "bot_1"
	_, _, err = s.PutBot(ctx, bot, false, ada)
	must(err)
	_, err = s.PutTrunk(ctx, enginetest.Filled[engine.TrunkSettings](), false, ada)
	must(err)
	_, err = s.PutNumber(ctx, engine.NumberSettings{Number: "+4930111222", HourCap: 3, State: "active"}, ada)
	must(err)
	must(s.Accounts.CreateUser(ctx, engine.User{ID: "usr_1", Email: "ada@example.org", Role: "admin", PasswordHash: "x",
		Active: true, CreatedAt: now}, ada))
	must(s.Accounts.CreateKey(ctx, engine.APIKey{ID: "key_1", Name: "CRM", Hash: sha256.Sum256([]byte("k")),
		Masked: "vx", Active: true, Scopes: []string{"trigger"}, Campaigns: []engine.CampaignID{"cmp_1"}, CreatedAt: now,
		CreatedBy: "ada"}, ada))
	_, _, err = s.PutCadence(ctx, cadence.Named{ID: "evenings", Name: "Evenings",
		Cadence: cadence.Cadence{PerDay: 3}}, now, ada)
	must(err)
	_, _, err = s.PutCalendar(ctx, calendar.Named{ID: "de", Name: "Germany", Sets: []string{"DE"}}, false, now, ada)
	must(err)
	must(s.AddVoicemail(ctx, engine.Voicemail{ID: "vm_1", Name: "hello", CreatedAt: now, CreatedBy: "ada"},
		[]byte("audio"), ada))
	must(s.Endpoints.CreateWebhook(ctx, webhook.Endpoint{ID: "whk_1", URL: "https://crm.example/hook",
		Types: []string{"call.ended"}, Campaigns: []engine.CampaignID{"cmp_1"}, Active: true, CreatedAt: now,
		CreatedBy: "ada"}, "whsec_x", ada))
	run(t, url, fmt.Sprintf(`INSERT INTO amd_reviews (attempt_id, campaign_id, trunk, country, verdict,
		revised_from, confidence, amd_ms, answered_at) VALUES ('%s', 'cmp_2', 't', 'DE', 'human', '', 0.9, 800, now())`,
		a.ID))
	must(s.Recordings.LabelAMDReview(ctx, a.ID, "machine", ada))
}

// changeOf is SQL for another value of a column.
func changeOf(column, typ string) string {
	switch typ {
	case "text":
		return column + " || 'x'"
	case "boolean":
		return "NOT " + column
	case "integer", "bigint":
		return column + " + 1"
	case "double precision":
		return column + " + 0.125"
	case "timestamp with time zone":
		return "coalesce(nullif(" + column + ", '-infinity') + interval '1 microsecond', '2000-01-01Z')"
	case "uuid":
		return "gen_random_uuid()"
	case "jsonb":
		return "coalesce(" + column + ", '{}') || '{\"x\": 1}'"
	case "text[]":
		return column + " || '{x}'::text[]"
	case "bytea":
		return "coalesce(" + column + `, '') || '\x01'`
	}
	return ""
}

// Whoever changes any column of any row that is evidence, or removes, adds or puts back a row, is
// found by it: with its table and what was done.
func TestEveryColumnOfEveryRowAnswersForItself(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	writeAll(t, s, url)
	if ok, err := s.BeginDigests(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if list := findings(t, s); len(list) > 0 {
		t.Fatal(list)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	exec := func(sql string) bool {
		t.Helper()
		tag, err := conn.Exec(t.Context(), sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return tag.RowsAffected() > 0
	}
	tried := 0
	check := func(p *table.Part, what, kind string) {
		t.Helper()
		tried++
		if !slices.ContainsFunc(findings(t, s), func(f history.Finding) bool {
			named := f.Table == p.Name || f.Table == p.Table || p == table.PartKept && f.Table == table.PartContact.Name
			return named && strings.Contains(f.What, kind)
		}) {
			t.Errorf("%s: %s is not found", p.Name, what)
		}
		exec("DELETE FROM " + p.Table + "; INSERT INTO " + p.Table + " SELECT * FROM kept")
	}
	for _, p := range table.Parts {
		exec("DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT * FROM " + p.Table)
		rows, _ := conn.Query(t.Context(), `SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
			WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, p.Table)
		columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Name, Type string }])
		if err != nil {
			t.Fatal(err)
		}
		first := " WHERE ctid = (SELECT ctid FROM " + p.Table + " t WHERE " + orTrue(p.Must) + " LIMIT 1)"
		for _, c := range columns {
			if !p.Has(c.Name) {
				continue
			}
			to := changeOf(c.Name, c.Type)
			if to == "" {
				t.Errorf("%s.%s is a %s, which this test cannot change", p.Table, c.Name, c.Type)
				continue
			}
			if !exec("UPDATE " + p.Table + " SET " + c.Name + " = " + to + first) {
				t.Errorf("%s has no row", p.Name)
				break
			}
			check(p, c.Name+" = "+to, "")
		}
		if p.Only != nil {
			continue
		}
		exec("DELETE FROM " + p.Table + first)
		check(p, "a row that was removed", "gone")
	}
	if tried < 150 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// A row that is put in, or put back as it was before, has no digest that says so.
func TestRowsPutInAndPutBackAreFound(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	writeAll(t, s, url)
	storetest.Tampered(t)
	if ok, err := s.BeginDigests(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	f := func(what, sql, name, kind string) {
		t.Helper()
		run(t, url, sql)
		if !slices.ContainsFunc(findings(t, s), func(f history.Finding) bool {
			return f.Table == name && strings.Contains(f.What, kind)
		}) {
			t.Errorf("%s: not found in %v", what, findings(t, s))
		}
	}
	run(t, url, "CREATE TABLE older AS SELECT * FROM trunks WHERE id = 't1'")
	if _, err := s.PutTrunk(t.Context(), engine.TrunkSettings{ID: "t1", Host: "other.example"}, false, ada); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Unsuppress(t.Context(), "+4915166666666", ada); err != nil {
		t.Fatal(err)
	}
	if list := findings(t, s); len(list) > 0 {
		t.Fatal(list)
	}
	f("a trunk as it was before", "DELETE FROM trunks WHERE id = 't1'; INSERT INTO trunks SELECT * FROM older", "trunks",
		"older copy")
	f("a number that was taken off the list", `INSERT INTO suppressions (number, reason, created_at)
		VALUES ('+4915166666666', 'opt_out', now())`, "suppressions", "there again")
	f("a number that nobody put on the list", `INSERT INTO suppressions (number, reason, created_at)
		VALUES ('+4915166666667', 'opt_out', now())`, "suppressions", "added")
	f("an exclusion dated back", `INSERT INTO exclusions (campaign_id, number, match, reason, lifted, created_at)
		VALUES ('cmp_1', '+4915166666667', '{}', '', false, now() - interval '1 year')`, "exclusions", "added")
	f("a call that never was", `INSERT INTO attempts SELECT (jsonb_populate_record(a,
		jsonb_build_object('id', gen_random_uuid()))).* FROM attempts a LIMIT 1`, "attempts", "added")
	f("a batch without a code", `WITH h AS (UPDATE event_heads SET n = n + 1, hash = sha256(hash || ''::bytea)
			WHERE campaign_id = 'cmp_1' AND run = 1 RETURNING *)
		INSERT INTO event_batches (campaign_id, run, n, seqs, hash) SELECT campaign_id, run, n, '{}', hash FROM h`,
		"event_batches", "no code")
}

// What was there before there were digests gets them once, and a person can be erased, calls
// dropped and campaigns removed without a finding.
func TestDigestsBeginWithWhatIsThere(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s, err := persistence.Open(t.Context(), url, persistence.Config{Writers: 2, Readers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	writeAll(t, s, url)
	s.UseRowKey(storetest.RowKey)
	list, _ := audits(t, s)
	if wrong := findings(t, s); len(wrong) > 0 || list[0].Unattested == 0 {
		t.Fatal(wrong, list[0].Unattested)
	}
	for range 2 {
		if ok, err := s.BeginDigests(t.Context()); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	list, _ = audits(t, s)
	for _, a := range list {
		if a.Unattested != 0 {
			t.Errorf("%s: %d rows have no digest", a.Campaign, a.Unattested)
		}
	}
	if wrong := findings(t, s); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	e := history.Erasure{Number: "+4915155555555", Tombstone: engine.ErasedPrefix + "1", Suppress: true, Who: ada,
		At: time.Now()}
	if _, err := s.Records.ErasePerson(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	writeHistory(t, s, "cmp_3", false)
	if wrong := findings(t, s); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// A node of a release that leaves no digests keeps them from beginning.
func TestDigestsDoNotBeginBesideANodeThatLeavesNone(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	run(t, url, `INSERT INTO nodes (name, address, api, joined_at, expires_at)
		VALUES ('old', 'a:1', '', now(), now() + interval '1 hour')`)
	if ok, err := s.BeginDigests(t.Context()); ok || err != nil {
		t.Error(ok, err)
	}
	run(t, url, "UPDATE nodes SET left_at = now()")
	if ok, err := s.BeginDigests(t.Context()); !ok || err != nil {
		t.Error(ok, err)
	}
}

func orTrue(sql string) string {
	if sql == "" {
		return "true"
	}
	return sql
}

// findings are what the audits find, apart from rows of writeAll that no event tells of.
func findings(t *testing.T, s *persistence.Store) (all []history.Finding) {
	t.Helper()
	list, _ := audits(t, s)
	for _, a := range list {
		for _, f := range a.Findings {
			// Nor do they know the key of checkpoints.
			if f.Table != "" && f.Table != "run_checkpoints" && !strings.Contains(f.What, "events none, tables one") {
				all = append(all, f)
			}
		}
	}
	return all
}

// Every table has digests, or a reason why it needs none.
func TestEveryTableIsEvidenceOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	storetest.OpenAt(t, url, persistence.Config{})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, _ := conn.Query(t.Context(), `SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p')
		AND c.relnamespace = current_schema()::regnamespace AND c.relname !~ '^events_[0-9]'`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		has := slices.ContainsFunc(table.Parts, func(p *table.Part) bool { return p.Table == name })
		why, not := table.NotEvidence[name]
		if has == not || not && why == "" {
			t.Errorf("%s: has digests %v, and a reason why not %q", name, has, why)
		}
	}
	for name := range table.NotEvidence {
		if !slices.Contains(tables, name) {
			t.Errorf("there is no table %s", name)
		}
	}
}

// When a month of what belongs to no campaign is dropped, the rows that it tells of stay, and so does
// their last digest.
func TestADroppedMonthLeavesTheDigestsOfItsRows(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	past := time.Now().Add(-200 * 24 * time.Hour)
	then := storetest.OpenAt(t, url, persistence.Config{Now: func() time.Time { return past }})
	if err := then.Maintain(t.Context(), past); err != nil {
		t.Fatal(err)
	}
	if ok, err := then.BeginDigests(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, host := range []string{"a.example", "b.example"} {
		if _, err := then.PutTrunk(t.Context(), engine.TrunkSettings{ID: "t1", Host: host}, false, ada); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := then.PutTrunk(t.Context(), engine.TrunkSettings{ID: "t2", Host: "c.example"}, false, ada); err != nil {
		t.Fatal(err)
	}
	if err := then.DeleteTrunk(t.Context(), "t2", ada); err != nil {
		t.Fatal(err)
	}
	s := storetest.OpenAt(t, url, persistence.Config{})
	month := past.UTC().Format("200601")
	chains := func() (n int) {
		t.Helper()
		if err := s.QueryRow(t.Context(), "SELECT count(*) FROM event_heads WHERE run / 100 = "+month, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if chains() == 0 {
		t.Fatal("there is no chain of that month")
	}
	d, err := s.Records.Retain(t.Context(), time.Now(), history.Keep{Events: 100 * 24 * time.Hour, Key: &keeper})
	if err != nil || !slices.Contains(d.Partitions, "events_"+month) || chains() != 0 {
		t.Fatalf("%+v, %d chains: %v", d, chains(), err)
	}
	if list := findings(t, s); len(list) > 0 {
		t.Errorf("%v", list)
	}
	run(t, url, "UPDATE trunks SET host = 'a.example'")
	storetest.Tampered(t)
	if list := findings(t, s); len(list) != 1 || list[0].Table != "trunks" {
		t.Errorf("%v", list)
	}
}

// An audit since a seal finds what is changed of what was written since, and reads nothing else.
func TestAnAuditSinceASealIsOfWhatWasWrittenSince(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	s := w.store
	writeHistory(t, s, "cmp_1", true)
	if ok, err := s.BeginDigests(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	w.seal()
	var at time.Time
	if err := s.QueryRow(t.Context(), "SELECT max(at) FROM spine", &at); err != nil {
		t.Fatal(err)
	}
	more := func() {
		writeHistory(t, s, "cmp_2", true)
		if _, err := s.PutTrunk(t.Context(), engine.TrunkSettings{ID: "t9", Host: "nine.example"}, false, ada); err != nil {
			t.Fatal(err)
		}
	}
	more()
	since := func() (found string, events int) {
		t.Helper()
		campaigns := 0
		sealed, err := s.Records.AuditSince(t.Context(), at, func(a history.Audit) {
			events += a.Events
			campaigns++
			for _, f := range a.Findings {
				found += f.String() + "\n"
			}
		})
		if err != nil || !sealed.Equal(at) || campaigns != 3 { // cmp_2, its copy, and none
			t.Fatalf("since %s, of %d campaigns: %v", sealed, campaigns, err)
		}
		return found, events
	}
	var all int
	if err := s.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE campaign_id LIKE 'cmp_2%' AND seq > 0",
		&all); err != nil {
		t.Fatal(err)
	}
	if found, events := since(); found != "" || events < all {
		t.Fatalf("%d of %d events: %s", events, all, found)
	}
	storetest.Tampered(t)
	f := func(sql, names string) {
		t.Helper()
		run(t, w.url, sql)
		if found, _ := since(); !strings.Contains(found, names) {
			t.Errorf("%s: %q is not in %q", sql, names, found)
		}
	}
	f("UPDATE contacts SET source = 'x' WHERE campaign_id = 'cmp_1'", "")
	if found, _ := since(); found != "" {
		t.Errorf("what is older: %s", found)
	}
	f("UPDATE attempts SET to_number = '+4915100000009' WHERE campaign_id = 'cmp_2'", "attempts ")
	f("UPDATE trunks SET host = 'ten.example' WHERE id = 't9'", "trunks t9")
	f("UPDATE events SET data = data || '{\"x\": 1}' WHERE campaign_id = 'cmp_2' AND seq = 2", "seq 2")
	f("DELETE FROM events WHERE seq <= 0", "was removed")
	f("DELETE FROM event_batches WHERE campaign_id = 'cmp_2' AND n = 2", "batches are missing")
}

// A group without events adds none to a chain, whatever the group before it had.
func TestAGroupWithoutEventsChainsNone(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	at := time.Now()
	id := engine.AttemptID(hexID())
	w := journal.Write{Attempts: []attempt.Attempt{{ID: id, To: "+4915112345678", State: attempt.Ended, EndedAt: &at,
		SendBy: at, ReservedAt: &at}}}
	for range 6 { // each of the writers' groups has one with events and one without
		told := w
		told.Events = []journal.Event{{At: time.Now(), Type: journal.AttemptReserved, Version: 1, Attempt: id}}
		if _, err := s.Commit(t.Context(), []journal.Write{told}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), []journal.Write{w}); err != nil {
			t.Fatal(err)
		}
	}
	if _, wrong := audits(t, s); wrong != "" {
		t.Error(wrong)
	}
}

// What a batch has of an ended call already is not in another one again, unless the server may be another.
func TestAResultLeavesNoDigestOfWhatTheEndSaid(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	at := time.Now()
	a := attempt.Attempt{ID: engine.AttemptID(hexID()), To: "+4915112345678", State: attempt.Ended, EndedAt: &at,
		SendBy: at, ReservedAt: &at, Quality: &engine.MediaQuality{Codec: "PCMU"}}
	f := func(s *persistence.Store, want ...byte) {
		t.Helper()
		if _, err := s.Commit(t.Context(), []journal.Write{{Attempts: []attempt.Attempt{a}}}); err != nil {
			t.Fatal(err)
		}
		var rows, parts []byte
		last := conn.QueryRow(t.Context(), "SELECT rows FROM event_batches ORDER BY ctid DESC LIMIT 1")
		if err := last.Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if err := chain.Entries(rows, func(e *chain.Entry) { parts = append(parts, e.Part) }); err != nil {
			t.Fatal(err)
		}
		if slices.Sort(parts); !slices.Equal(parts, want) {
			t.Errorf("digests of the parts %v, want %v", parts, want)
		}
	}
	if _, err := s.Commit(t.Context(), []journal.Write{{}}); err != nil { // the first connection to a server knows nothing
		t.Fatal(err)
	}
	call, result, quality := table.PartAttempt.Byte, table.PartResult.Byte, table.PartQuality.Byte
	f(s, call, result, quality)
	a.Result = &attempt.Result{Disposition: "sold", ReceivedAt: at}
	f(s, result)
	a.Friendly = "changed"
	f(s, call, result)
	f(storetest.OpenAt(t, url, persistence.Config{}), call, result, quality) // which knows of no other
	s.UseRowKey(chain.RowKey{9})
	f(s, call, result, quality)
	storetest.Tampered(t) // nobody changes the key like that
}

// A result that waited in a spool is stored after one that came later, and replaces it.
func TestAResultThatWaitedReplacesOneThatCameLater(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	at := time.Now()
	a := attempt.Attempt{ID: engine.AttemptID(hexID()), To: "+4915112345678", State: attempt.Ended, EndedAt: &at,
		SendBy: at, ReservedAt: &at}
	for i, received := range []time.Time{at.Add(5 * time.Second), at} {
		a.Result = &attempt.Result{Disposition: "sold", ReceivedAt: received, Revision: i}
		if _, err := s.Commit(t.Context(), []journal.Write{{Attempts: []attempt.Attempt{a}}}); err != nil {
			t.Fatal(err)
		}
	}
	if list := findings(t, s); len(list) > 0 {
		t.Error(list)
	}
}
