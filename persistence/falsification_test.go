package persistence_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/persistence/storetest"
)

// forger has the whole database, and neither the key nor the file of seals.
type forger struct {
	*signed
	conn   *pgx.Conn
	tables []string
	known  map[string]bool
}

// newForger writes rows of every part, begins digests, seals and copies the seals.
func newForger(t *testing.T) *forger {
	t.Helper()
	f := &forger{signed: newSigned(t)}
	storetest.Tampered(t)
	writeAll(t, f.store, f.url)
	if ok, err := f.store.BeginDigests(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	f.seal()
	f.copy()
	f.connect()
	rows, _ := f.conn.Query(t.Context(), `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
		AND relnamespace = current_schema()::regnamespace AND relname !~ '^(river|goose|webhook_)' ORDER BY 1`)
	var err error
	if f.tables, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	f.known = map[string]bool{}
	for line := range strings.Lines(f.found()) {
		f.known[line] = true
		if !strings.Contains(line, "cmp_2") {
			t.Errorf("the fixture: %s", line)
		}
	}
	f.exec("CREATE SCHEMA kept")
	f.keep("kept")
	return f
}

func (f *forger) connect() {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.url)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	f.conn = conn
}

func (f *forger) exec(sql string) {
	f.t.Helper()
	if _, err := f.conn.Exec(f.t.Context(), sql); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

func (f *forger) keep(schema string) {
	f.t.Helper()
	for _, x := range f.tables {
		f.exec("CREATE TABLE " + schema + "." + x + " AS SELECT * FROM " + x)
	}
}

// restore puts every table back.
func (f *forger) restore(schema string) {
	f.t.Helper()
	for _, x := range f.tables {
		f.exec("DELETE FROM " + x + "; INSERT INTO " + x + " SELECT * FROM " + schema + "." + x)
	}
}

// found is what all audits find, but for what they find of the fixture: it tells no events of some rows.
func (f *forger) found() string {
	f.t.Helper()
	_, text := audits(f.t, f.store)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !f.known[line] {
			b.WriteString(line)
		}
	}
	for _, x := range f.audit(keeper.Public()).Findings {
		fmt.Fprintf(&b, "spine %s %s\n", x.Kind, x)
	}
	return b.String()
}

// Whatever somebody with the whole database and without the key falsifies is named, with its table.
func TestNoFalsificationOfTheDatabasePasses(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	if text := f.found(); text != "" {
		t.Fatal(text)
	}
	try := func(what, named string, sql ...string) {
		t.Helper()
		for _, x := range sql {
			f.exec(x)
		}
		if text := f.found(); !strings.Contains(text, named) {
			t.Errorf("%s: %q is not in %q", what, named, text)
		}
		f.restore("kept")
	}
	const run1 = "campaign_id = 'cmp_1' AND run = 1"
	try("who was called", "attempts ", "UPDATE attempts SET to_number = '+4915100000001' WHERE "+run1)
	try("calls after hours, moved into the window", "attempts ",
		`UPDATE attempts SET reserved_at = reserved_at - interval '90 min', invite_at = invite_at - interval '90 min',
		answered_at = answered_at - interval '90 min', ended_at = ended_at - interval '90 min' WHERE `+run1)
	try("stages and verdict", "attempts ", "UPDATE attempts SET ringing_at = now(), verdict_at = now() WHERE "+run1)
	try("quality", "attempts.quality", "UPDATE attempts SET quality = NULL WHERE quality IS NOT NULL")
	try("who hung up", "attempts ", "UPDATE attempts SET hung_up_by = 'callee', q850 = 16, sip_reason = 'OK' WHERE "+run1)
	try("the disposition of a result", "attempts.result",
		`UPDATE attempts SET result = jsonb_set(result, '{disposition}', '"sold"') WHERE result IS NOT NULL`)
	try("whose consent it was", "attempts ", `UPDATE attempts a SET contact_id = b.contact_id FROM attempts b
		WHERE a.campaign_id = 'cmp_1' AND b.campaign_id = 'cmp_1' AND a.id <> b.id`)
	try("legs", "legs ", "UPDATE legs SET sip_code = 486")
	try("legs removed", "legs ", "DELETE FROM legs")
	try("a contact's number", "contacts ", `UPDATE contacts SET number = '+4915199900002'
		WHERE id = (SELECT id FROM contacts WHERE campaign_id = 'cmp_2' LIMIT 1)`)
	try("a contact's consent", "contact_variables",
		`UPDATE contact_variables SET variables = variables || '{"consent": "yes"}'`)
	try("an exclusion dated back", "exclusions", `INSERT INTO exclusions (campaign_id, number, match, reason, lifted,
		created_at) VALUES ('cmp_1', '+4915112345112', '{}', 'asked', false, now() - interval '1 year')`)
	try("an exclusion that is kept secret", "exclusions", "DELETE FROM exclusions WHERE number <> ''")
	try("an opt-out that is kept secret", "suppressions", "DELETE FROM suppressions")
	try("an opt-out dated back", "suppressions", "UPDATE suppressions SET created_at = created_at - interval '1 year'")
	try("the abandon cap", "campaigns", `UPDATE campaigns SET settings = settings || '{"abandon_cap_ppm": 900000}'
		WHERE id = 'cmp_1'`)
	try("the time of a campaign's window", "campaigns", `UPDATE campaigns SET settings = settings || '{"window": {}}'`)
	try("a role", "users", "UPDATE users SET role = 'viewer'")
	try("a key's scope", "api_keys", "UPDATE api_keys SET scopes = '{}'")
	try("a carrier", "trunks", "UPDATE trunks SET host = 'other.example'")
	try("a bot", "bots", "UPDATE bots SET endpoints = '{wss://other.example}'")
	try("a caller ID's cap", "numbers", "UPDATE numbers SET hour_cap = 0")
	try("a message for machines", "voicemails", `UPDATE voicemails SET audio = '\x00'`)
	try("where messages are sent", "webhooks", "UPDATE webhooks SET url = 'https://other.example'")
	try("a label", "amd_reviews", "UPDATE amd_reviews SET label = '', labelled_by = '', labelled_at = NULL")
	try("how many an import added", "imports", "UPDATE imports SET added = added + 1")
	try("a chain dropped", "cmp_1", "UPDATE events SET digest = NULL WHERE "+run1, "DELETE FROM event_batches WHERE "+run1,
		"DELETE FROM event_heads WHERE "+run1)
	try("a chain dropped and outcomes written anew", "attempts ", "UPDATE events SET digest = NULL WHERE "+run1,
		"DELETE FROM event_batches WHERE "+run1, "DELETE FROM event_heads WHERE "+run1,
		"UPDATE attempts SET outcome = 'no_answer' WHERE "+run1)
	try("a chain written anew", "event_batches", rewrite)
	try("a campaign with all its rows and chains", "chain_removed", "DELETE FROM campaigns WHERE id = 'cmp_1'",
		"DELETE FROM contacts WHERE campaign_id = 'cmp_1'", "DELETE FROM contact_runs WHERE campaign_id = 'cmp_1'",
		"DELETE FROM attempts WHERE campaign_id = 'cmp_1'", "DELETE FROM events WHERE campaign_id = 'cmp_1'",
		"DELETE FROM event_batches WHERE campaign_id = 'cmp_1'", "DELETE FROM event_heads WHERE campaign_id = 'cmp_1'")
	try("one chain of no campaign", "spine chain_removed", `DELETE FROM events e USING event_heads h
		WHERE h.campaign_id = '' AND h.run > 1 AND e.seq <= 0`,
		"DELETE FROM event_batches WHERE campaign_id = '' AND run > 1",
		"DELETE FROM event_heads WHERE campaign_id = '' AND run > 1")
	try("all events of no campaign, as if older than the chain", "spine ",
		"UPDATE events SET digest = NULL WHERE seq <= 0",
		"DELETE FROM event_batches WHERE campaign_id = '' AND run > 1",
		"DELETE FROM event_heads WHERE campaign_id = '' AND run > 1",
		"UPDATE goose_db_version SET tstamp = now() + interval '1 hour'")
	try("a checkpoint that nobody signed", "checkpoint", `INSERT INTO run_checkpoints (campaign_id, run, counters,
		attempts_gone, events_gone, seq, batches, at) VALUES ('cmp_1', 1, '{}', true, true, 9, 9, '2020-01-01')`,
		"DELETE FROM events WHERE "+run1, "DELETE FROM attempts WHERE "+run1)
	try("the beginning of digests removed", "spine ", "DELETE FROM event_batches WHERE campaign_id = '' AND run = 1",
		"DELETE FROM event_heads WHERE campaign_id = '' AND run = 1")
	try("digests of rows removed", "event_batches", "UPDATE event_batches SET rows = NULL, code = NULL WHERE "+run1)
	try("digests of rows of another batch", "event_batches", `UPDATE event_batches b SET rows = o.rows FROM event_batches o
		WHERE b.campaign_id = 'cmp_1' AND b.run = 1 AND o.campaign_id = 'cmp_1' AND o.run = 1 AND o.n = b.n + 1`)
	try("two batches in another order", "event_batches", `UPDATE event_batches
		SET n = CASE n WHEN 2 THEN 103 WHEN 3 THEN 102 END WHERE `+run1+" AND n IN (2, 3)",
		"UPDATE event_batches SET n = n - 100 WHERE "+run1+" AND n > 100")
	try("a batch twice", "cmp_1", "INSERT INTO event_batches SELECT campaign_id, run, "+
		"(SELECT max(n) + 1 FROM event_batches WHERE "+run1+"), seqs, digests, hash, attempts, rows, code "+
		"FROM event_batches WHERE "+run1+" AND n = 2")
	try("an event twice", "event", `INSERT INTO events SELECT (jsonb_populate_record(e,
		jsonb_build_object('at', e.at + interval '1 second'))).* FROM events e WHERE `+run1+" AND seq = 2")
	var batches int
	if err := f.conn.QueryRow(t.Context(), "SELECT n FROM event_heads WHERE "+run1).Scan(&batches); err != nil {
		t.Fatal(err)
	}
	for n := range batches - 1 {
		try(fmt.Sprintf("cut off after batch %d, rows and all", n+1), "cmp_1",
			fmt.Sprintf("DELETE FROM events e USING event_batches b WHERE b.campaign_id = 'cmp_1' AND b.run = 1 AND b.n > %d "+
				"AND e.campaign_id = 'cmp_1' AND e.seq = ANY (b.seqs)", n+1),
			fmt.Sprintf("DELETE FROM event_batches WHERE %s AND n > %d", run1, n+1),
			fmt.Sprintf("UPDATE event_heads SET n = %d, hash = (SELECT hash FROM event_batches WHERE %s AND n = %d) WHERE %s",
				n+1, run1, n+1, run1))
	}
	try("a month of events", "was removed", "DELETE FROM events WHERE at < now() + interval '1 month'")
	try("the spine", "genesis_missing", "DELETE FROM spine")
	try("a seal", "older_backup", "DELETE FROM spine WHERE kind = 'seal'", "UPDATE spine SET n = n - 1 WHERE n > 2")
	if text := f.found(); text != "" {
		t.Errorf("after all of it was put back: %s", text)
	}

	// An older backup: everything as it was, and whole.
	if _, err := f.store.Suppress(t.Context(), []engine.PhoneNumber{"+4915188888888"}, "asked", ada); err != nil {
		t.Fatal(err)
	}
	f.seal()
	f.copy()
	f.restore("kept")
	if text := f.found(); !strings.Contains(text, "older_backup") {
		t.Errorf("an older backup: %q", text)
	}
}
