package persistence_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// dialled are calls of a campaign over some days: each every seven minutes by SQL, from one that the
// store wrote. Every third is answered; some tell nothing.
const dialled = `ALTER TABLE attempts DISABLE TRIGGER ALL;
	INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object(
		'id', lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') ||
			substr(replace(gen_random_uuid()::text, '-', ''), 13),
		'contact_id', md5(i::text)::uuid, 'campaign_id', CASE WHEN i %% 2 = 0 THEN 'cmp_bench' ELSE 'cmp_plain' END,
		'to_number', CASE WHEN i %% 5 = 0 THEN '' WHEN i %% 2 = 0 THEN '+4915112345678' ELSE '+33612345678' END,
		'reserved_at', at, 'invite_at', CASE WHEN i %% 11 <> 0 THEN at + interval '1 second' END,
		'callback', i %% 13 = 0, 'live', i %% 17 = 0, 'served_at', CASE WHEN i %% 3 = 0 THEN at + interval '9 seconds' END,
		'ended_at', CASE WHEN i %% 17 <> 0 THEN at + interval '30 seconds' END,
		'outcome', CASE WHEN i %% 17 = 0 THEN '' WHEN i %% 7 = 0 THEN 'congestion' WHEN i %% 3 = 0 THEN 'completed'
			ELSE 'no_answer' END))).*
	FROM attempts a, generate_series(1, %d) i, LATERAL (SELECT now() - i * interval '7 minutes' AS at) x;
	DELETE FROM attempts WHERE contact_id IN (SELECT id FROM contacts)`

// learner has a store with some days of calls.
func learner(t *testing.T, cfg persistence.Config, calls int) (*persistence.Store, string) {
	t.Helper()
	w := newCalls(t, storetest.URL(t), 1, 0, false)
	w.each(1, func(group []journal.Write) { w.commit(w.store, group) })
	if err := w.store.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_plain", State: campaign.Running, Run: 1,
		CreatedAt: w.at, Settings: campaign.Settings{Name: "plain", MaxAttempts: 3}}); err != nil {
		t.Fatal(err)
	}
	run(t, w.url, fmt.Sprintf(dialled, calls)+
		`; UPDATE campaigns SET settings = settings || '{"best_hour": true}' WHERE id = 'cmp_bench'`)
	return storetest.OpenAt(t, w.url, cfg), w.url
}

// recounted are the same figures, counted from the attempts at once; the option is on since a time.
func recounted(t *testing.T, url string, since, until time.Time) (all besthour.Table, with, control besthour.Cell) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, _ := conn.Query(t.Context(), `SELECT to_number, invite_at, live, outcome, served_at, campaign_id,
		replace(contact_id::text, '-', '') FROM attempts WHERE reserved_at < $1 AND NOT callback AND to_number <> ''
		AND invite_at IS NOT NULL`, until)
	var to, outcome, of, contactID string
	var at time.Time
	var served *time.Time
	var live bool
	_, err = pgx.ForEachRow(rows, []any{&to, &at, &live, &outcome, &served, &of, &contactID}, func() error {
		told, answered := besthour.Told(engine.Outcome(outcome))
		if served != nil {
			told, answered = true, true
		}
		if !told {
			return nil
		}
		all.Note(engine.PhoneNumber(to), at, answered)
		c := besthour.Cell{Dials: 1}
		if answered {
			c.Answers = 1
		}
		switch {
		case of != "cmp_bench" || at.Add(-time.Second).Before(since): // it was dialled a second after its reservation
		case besthour.Control("cmp_bench", engine.ContactID(contactID)):
			control = control.And(c)
		default:
			with = with.And(c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, with, control
}

func learnAll(t *testing.T, s *persistence.Store, now time.Time) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.LearnHours(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
}

func asRecounted(t *testing.T, s *persistence.Store, url string, since time.Time) {
	t.Helper()
	got, err := s.AnswerHours(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, with, control := recounted(t, url, since, got.Through)
	want.Through = got.Through
	if !reflect.DeepEqual(got, want) || want.All.Answers == 0 || len(want.Countries) != 2 {
		t.Errorf("learned %+v, the attempts say %+v", got.All, want.All)
	}
	a, b, err := s.BestHourDials(t.Context(), "cmp_bench")
	if err != nil || a != with || b != control || control.Dials == 0 {
		t.Errorf("%v: %v with the option and %v without, the attempts say %v and %v", err, a, b, with, control)
	}
	if a, b, err := s.BestHourDials(t.Context(), "cmp_plain"); err != nil || a.Dials+b.Dials > 0 {
		t.Errorf("%v: a campaign without the option has %v and %v", err, a, b)
	}
}

// Several nodes learn at the same time, and again.
func TestEachDialIsLearnedFromOnce(t *testing.T) {
	t.Parallel()
	s, url := learner(t, persistence.Config{}, 300)
	now := time.Now()
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			for range 300 {
				if _, err := s.LearnHours(t.Context(), now); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	nodes.Wait()
	learnAll(t, s, now)
	asRecounted(t, s, url, time.Time{})
	if got, _ := s.AnswerHours(t.Context()); now.Sub(got.Through) > 20*time.Minute {
		t.Errorf("learned until %s, it is %s", got.Through, now)
	}
}

// A campaign has calls of weeks when its option is switched on, and its dials are learned from anew: those
// before it were dialled without it.
func TestDialsCountForTheOptionSinceItWasSwitchedOn(t *testing.T) {
	t.Parallel()
	s, url := learner(t, persistence.Config{}, 300)
	now := time.Now()
	since := now.Add(-10 * time.Hour).Truncate(time.Minute)
	for i, edit := range []struct {
		at    time.Time
		field string
	}{{since.Add(-10 * time.Hour), "best_hour"}, {since.Add(-5 * time.Hour), "best_hour"}, {since, "best_hour"},
		{since.Add(5 * time.Hour), "max_attempts"}} {
		run(t, url, fmt.Sprintf(`INSERT INTO events (campaign_id, seq, run, at, type, version, leg, activity, data) VALUES
			('cmp_bench', %d, 1, '%s', 'campaign.edited', 1, 0, true, '{"changes": [{"field": %q}]}')`, 900_000+i,
			edit.at.UTC().Format(time.RFC3339), edit.field))
	}
	learnAll(t, s, now)
	asRecounted(t, s, url, since)
}

// killer ends the connection before each nth statement of the learning.
type killer struct{ left atomic.Int64 }

func (k *killer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "UPDATE answer_hours_learned") && k.left.Add(-1) >= 0 {
		_ = conn.PgConn().Conn().Close()
	}
	return ctx
}

func (k *killer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestADialIsLearnedFromOnceThoughTheProcessDies(t *testing.T) {
	t.Parallel()
	k := &killer{}
	s, url := learner(t, persistence.Config{Tracer: k}, 100)
	now := time.Now()
	k.left.Store(8)
	died := 0
	for range 20 {
		if _, err := s.LearnHours(t.Context(), now); err != nil {
			died++
		}
	}
	if died == 0 {
		t.Fatal("nothing died")
	}
	learnAll(t, s, now)
	asRecounted(t, s, url, time.Time{})
}

func TestWhatIsOlderThanNinetyDaysIsForgotten(t *testing.T) {
	t.Parallel()
	s, url := learner(t, persistence.Config{}, 100)
	now := time.Now()
	learnAll(t, s, now)
	first, err := s.AnswerHours(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, url, "UPDATE answer_hours SET day = day - 89")
	learnAll(t, s, now.Add(72*time.Hour))
	got, err := s.AnswerHours(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The dials of the last minutes were learned from afterwards.
	old, _, _ := recounted(t, url, time.Time{}, first.Through)
	all, _, _ := recounted(t, url, time.Time{}, got.Through)
	if last := all.All.Dials - old.All.Dials; got.All.Dials != last || old.All.Dials == 0 || got.Through.Before(now) {
		t.Errorf("%+v until %s, the attempts say %d", got.All, got.Through, last)
	}
}

// A piece of time costs its dials, however many calls there are.
func TestThePiecesOfTimeAreReadFromAnIndex(t *testing.T) {
	t.Parallel()
	plans := &indexPlans{t: t, about: []string{"best_hour", "SELECT reserved_at FROM attempts"}, table: "attempts",
		index: "Index"}
	s, url := learner(t, persistence.Config{Tracer: plans}, 3000)
	run(t, url, "ANALYZE attempts")
	if _, err := s.LearnHours(t.Context(), time.Now()); err != nil || plans.read != 2 {
		t.Fatalf("%v, %d plans", err, plans.read)
	}
}

// indexPlans looks for reads of a whole table in the plans of the queries that have one of some texts.
type indexPlans struct {
	t     *testing.T
	about []string
	table string
	index string // the one that is read
	busy  bool
	read  int
}

func (p *indexPlans) TraceQueryStart(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if p.busy || !slices.ContainsFunc(p.about, func(text string) bool { return strings.Contains(q.SQL, text) }) ||
		strings.Contains(q.SQL, "CREATE TABLE") {
		return ctx
	}
	p.busy = true
	defer func() { p.busy = false }()
	rows, _ := conn.Query(ctx, "EXPLAIN "+q.SQL, q.Args...)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if plan := strings.Join(lines, "\n"); err != nil || strings.Contains(plan, "Seq Scan on "+p.table) ||
		!strings.Contains(plan, p.index) {
		p.t.Errorf("%v\n%s", err, plan)
	}
	p.read++
	return ctx
}

func (p *indexPlans) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
