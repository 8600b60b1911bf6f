package persistence_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/failure"
	"dialler/persistence/migrations"
	"dialler/persistence/storetest"
)

// servedFrom is the schema of the previous release: its processes keep writing while a newer one
// migrates the schema.
const servedFrom = 21

// Every migration since the previous release runs while calls are written by statements prepared
// before it: none is lost, none is refused, and folding the history gives the tables.
func TestCallsAreWrittenWhileTheSchemaIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyURL(t)
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cc.RuntimeParams["lock_timeout"] = "30s"
	schema := cc.RuntimeParams["search_path"]
	later := schema + "_later"
	db := stdlib.OpenDB(*cc)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), servedFrom); err != nil {
		t.Fatal(err)
	}
	// The statements are this program's: columns that they write and the old schema lacks are added
	// at the start.
	for _, sql := range []string{
		"ALTER TABLE attempts ADD COLUMN incarnation integer NOT NULL DEFAULT 0, ADD COLUMN variables_left_out integer " +
			"NOT NULL DEFAULT 0",
		"ALTER TABLE attempts ADD COLUMN revised_from text NOT NULL DEFAULT '', ADD COLUMN revisable_until timestamptz, " +
			"ADD COLUMN voicemail_left_at timestamptz",
		"ALTER TABLE attempts ADD COLUMN inbound boolean NOT NULL DEFAULT false, ADD COLUMN returns uuid",
		"ALTER TABLE event_batches ADD COLUMN attempts uuid[], ADD COLUMN rows bytea, ADD COLUMN code bytea",
		"ALTER TABLE contacts ADD COLUMN longest_talk bigint NOT NULL DEFAULT 0",
		`ALTER TABLE contacts ADD COLUMN last_conversation uuid, ADD COLUMN callback_of uuid,
			ADD COLUMN calling_back boolean NOT NULL DEFAULT false, ADD COLUMN callbacks_cancelled integer NOT NULL DEFAULT 0,
			ADD COLUMN ends integer NOT NULL DEFAULT 0, ADD COLUMN not_before timestamptz, ADD COLUMN expires_at timestamptz,
			ADD COLUMN precedence integer NOT NULL DEFAULT 0, ADD COLUMN tries bigint NOT NULL DEFAULT 0,
			ADD COLUMN alternates text NOT NULL DEFAULT '', ADD COLUMN choice integer NOT NULL DEFAULT 0,
			ADD COLUMN calls_back uuid, ADD COLUMN calls_back_until timestamptz, ADD COLUMN due_otherwise timestamptz`,
		`ALTER TABLE contact_runs ADD COLUMN longest_talk bigint NOT NULL DEFAULT 0, ADD COLUMN last_conversation uuid,
			ADD COLUMN callback_of uuid, ADD COLUMN calling_back boolean NOT NULL DEFAULT false,
			ADD COLUMN callbacks_cancelled integer NOT NULL DEFAULT 0, ADD COLUMN ends integer NOT NULL DEFAULT 0,
			ADD COLUMN not_before timestamptz, ADD COLUMN expires_at timestamptz,
			ADD COLUMN precedence integer NOT NULL DEFAULT 0, ADD COLUMN tries bigint NOT NULL DEFAULT 0,
			ADD COLUMN alternates text NOT NULL DEFAULT '', ADD COLUMN choice integer NOT NULL DEFAULT 0,
			ADD COLUMN calls_back uuid, ADD COLUMN calls_back_until timestamptz, ADD COLUMN due_otherwise timestamptz`,
		"ALTER TABLE number_holds ADD COLUMN bound timestamptz",
		"ALTER TABLE suppressions ADD COLUMN until timestamptz",
		"ALTER TABLE legs ADD COLUMN proof text NOT NULL DEFAULT ''",
		`CREATE TABLE amd_reviews (attempt_id uuid PRIMARY KEY, campaign_id text NOT NULL, trunk text NOT NULL,
			country text NOT NULL, verdict text NOT NULL, revised_from text NOT NULL,
			confidence double precision NOT NULL, amd_ms bigint NOT NULL, answered_at timestamptz NOT NULL,
			label text NOT NULL DEFAULT '', labelled_by text NOT NULL DEFAULT '', labelled_at timestamptz)`,
		// The tables of nodes are only read: these stand in until the real ones are created.
		"CREATE SCHEMA " + later,
		"CREATE TABLE " + later + ".nodes (incarnation integer, left_at timestamptz)",
		"CREATE TABLE " + later + ".owners (kind text, identity text, incarnation integer)",
		// So does that of further numbers of contacts: those of the calls have one.
		"CREATE TABLE " + later + ".contact_numbers (campaign_id text, number text, contact_id uuid)",
		// That of dialouts which wait for their time stands in too: calls need none.
		"CREATE TABLE " + later + `.scheduled_dialouts (id uuid PRIMARY KEY, bot_id text, to_number text, command jsonb,
			not_before timestamptz, expires_at timestamptz, precedence integer, created_at timestamptz,
			next_at timestamptz, reason text)`,
		// And that of the addresses that calls are told to.
		"CREATE TABLE " + later + `.webhook_callbacks (subject uuid PRIMARY KEY, webhook_id text, url text, types text[],
			created_at timestamptz)`,
		// And that of contacts that something other than their file has named.
		"CREATE TABLE " + later + ".contact_mentions (contact_id uuid PRIMARY KEY)",
	} {
		if _, err := db.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _, _ = db.ExecContext(context.Background(), "DROP SCHEMA "+later+" CASCADE") }()
	old := storetest.OpenAt(t, strings.Replace(url, schema, schema+","+later, 1),
		persistence.Config{SkipMigrations: true, Writers: 2, Readers: 2})
	w := newCaller(t, old, "cmp_up", time.Now())

	ctx, cancel := context.WithCancel(t.Context())
	var written atomic.Int64
	writing := make(chan error, 1)
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := w.call(); err != nil {
				writing <- fmt.Errorf("call %d: %w", n, err)
				return
			}
			written.Add(1)
		}
		writing <- nil
	}()
	await := func(n int64) {
		t.Helper()
		deadline := time.After(time.Minute)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for written.Load() < n {
			select {
			case err := <-writing:
				t.Fatalf("writing ended: %v", err)
			case <-deadline:
				t.Fatalf("%d calls were written, want %d", written.Load(), n)
			case <-tick.C:
			}
		}
	}
	await(5)
	for _, m := range provider.ListSources() {
		if m.Version <= servedFrom {
			continue
		}
		_, err := provider.UpTo(t.Context(), m.Version)
		for err != nil {
			if state, _ := failure.SQLState(err); state != "40P01" { // a start tries again after a deadlock
				t.Fatalf("migration %d: %v", m.Version, err)
			}
			_, err = provider.UpTo(t.Context(), m.Version)
		}
		await(written.Load() + 5)
	}
	// The newer process starts beside the old one and creates its partitions.
	storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 1})
	await(written.Load() + 5)
	cancel()
	if err := <-writing; err != nil {
		t.Fatal(err)
	}
	counters, err := old.Counters(t.Context(), w.c.ID, 1)
	if err != nil || int64(counters.Completed) < written.Load() {
		t.Errorf("%d of %d calls are stored: %v", counters.Completed, written.Load(), err)
	}
	if a, err := old.Records.Audit(t.Context(), w.c.ID); err != nil || len(a.Runs) != 1 || a.Wrong() > 0 {
		t.Errorf("audit: %+v, %v", a, err)
	}
}

// Contacts whose result was pending during a migration are recognised by the latest ended call that
// has none: its outcome is not shown as final, and the end of the wait is reported.
func TestWhoseResultIsAwaitedIsKnownAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	w := newCaller(t, storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 1}), "cmp_up", time.Now())
	const contacts = 5
	for range contacts {
		if err := w.call(); err != nil {
			t.Fatal(err)
		}
	}
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*cc)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	// Contact 1 waits for nothing, 2 for the second of its calls, 3 for its only one: the second
	// was no conversation. The result of 4 has arrived, and the call of 5 belongs to another run.
	for _, sql := range []string{
		"UPDATE attempts SET outcome = 'connected_no_result', result = NULL",
		`INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'number', 2,
			'ended_at', a.ended_at + interval '1 hour',
			'outcome', CASE WHEN c.position = 3 THEN 'no_answer' ELSE a.outcome END))).*
			FROM attempts a JOIN contacts c ON c.id = a.contact_id WHERE c.position IN (2, 3)`,
		`UPDATE attempts a SET result = '{}' FROM contacts c WHERE c.id = a.contact_id AND c.position = 4`,
		`UPDATE attempts a SET run = 2 FROM contacts c WHERE c.id = a.contact_id AND c.position = 5`,
		`UPDATE contacts SET last_outcome = 'connected_no_result',
			result_due_at = CASE WHEN position > 1 THEN now() END`,
	} {
		if _, err := db.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := provider.DownTo(t.Context(), 49); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), 50); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := db.QueryRowContext(t.Context(), `SELECT string_agg(coalesce(a.number, 0)::text, ' ' ORDER BY c.position)
		FROM contacts c LEFT JOIN attempts a ON a.id = c.last_conversation`).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if got != "0 2 1 0 0" {
		t.Errorf("awaited are the calls %s", got)
	}
	storetest.Tampered(t) // with the rows, by the statements above
}

// caller writes calls of one campaign, all at the same time, with the events of a history that
// folds to them.
type caller struct {
	t     *testing.T
	store *persistence.Store
	c     campaign.Campaign
	now   time.Time
	seq   int64
	n     int
}

func newCaller(t *testing.T, s *persistence.Store, id engine.CampaignID, at time.Time) *caller {
	t.Helper()
	w := &caller{t: t, store: s, now: at.UTC().Truncate(time.Microsecond), seq: 1}
	c := campaign.Campaign{
		ID:        id,
		State:     campaign.Running,
		Run:       1,
		CreatedAt: w.now,
		Settings:  campaign.Settings{Name: "up", MaxAttempts: 3},
	}
	if err := s.InsertCampaign(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.c, err = s.AcquireCampaign(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	return w
}

// call writes one contact and its answered call.
func (w *caller) call() error {
	ctx := context.Background()
	w.n++
	due := w.now
	k := storetest.Call{
		Epoch: w.c.Epoch,
		Contact: contact.Contact{ID: engine.ContactID(benchID(w.now, w.n)), Campaign: w.c.ID,
			Number: engine.PhoneNumber(
				fmt.Sprintf("+4915%09d", w.n),
			), Variables: map[string]string{"n": fmt.Sprint(w.n)}, Position: int64(w.n),
			Source: "api", Run: 1, State: contact.Pending, Max: 3, DueAt: &due, DueClass: contact.DueFirst, DuePass: 1,
			CreatedAt: w.now, UpdatedAt: w.now, Version: 1},
	}
	facts := k.Contact.Facts()
	w.seq++
	added := journal.Write{
		Campaign: w.c.ID,
		Epoch:    w.c.Epoch,
		Contacts: []contact.Contact{k.Contact},
		Events: []journal.Event{{Campaign: w.c.ID, Seq: w.seq,
			Run: 1, At: w.now, Type: journal.ContactTriggered, Version: 1, Contact: k.Contact.ID,
			Data: journal.Data{After: &facts}}},
	}
	writes := []journal.Write{added}
	for step := range storetest.CallSteps {
		w.seq++
		before := k.Contact.Facts()
		x := k.Write(step, w.seq, w.now)
		if step == 0 {
			after := k.Contact.Facts()
			x.Events[0].Data.Before, x.Events[0].Data.After = &before, &after
			x.Events[0].Data.ReservedAt = x.Attempts[0].ReservedAt
		}
		if step == 3 {
			x.Events[0].Data.ReservedAt, x.Events[0].Data.Verdict = x.Attempts[0].ReservedAt, x.Attempts[0].Verdict
		}
		writes = append(writes, x)
	}
	for i := range writes {
		refused, err := w.store.Commit(ctx, writes[i:i+1])
		if err != nil {
			return err
		}
		if refused[0] != nil {
			return refused[0]
		}
	}
	return nil
}

func TestASchemaThatIsNewerThanTheProgramIsSaid(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	open := func() string {
		t.Helper()
		var log bytes.Buffer
		s, err := persistence.Open(t.Context(), url, persistence.Config{Log: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		return log.String()
	}
	if said := open(); strings.Contains(said, "newer") {
		t.Errorf("its own schema: %s", said)
	}
	run(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)")
	if said := open(); !strings.Contains(said, `"schema":99999,"program":`) || strings.Count(said, "\n") != 1 {
		t.Errorf("it says %q", said)
	}
}

// A start that finds its schema current asks for no lock, so that it waits for nobody; an index that was left
// unfinished it finds all the same.
func TestAStartThatFindsItsSchemaCurrentWaitsForNobody(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	other, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.Background()) }()
	const lock = "SELECT pg_advisory_lock(hashtext('dialler.migrations'), hashtext(current_schema()))"
	if _, err := other.Exec(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 1})
	run(t, url, "CREATE INDEX broken_off ON legs (sip_code); "+
		"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken_off'::regclass")
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 1})
	var there bool
	storetest.Row(t, url, []any{&there}, "SELECT to_regclass('broken_off') IS NOT NULL")
	if there {
		t.Error("the index is still there")
	}
}
