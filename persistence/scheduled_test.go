package persistence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/dialout"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

// laterDialouts stores dialouts that wait, a second apart from a time on.
func laterDialouts(t *testing.T, s *persistence.Store, from time.Time, n int) (list []campaign.ScheduledDialout) {
	t.Helper()
	var group []journal.Write
	for i := range n {
		at, priority := from.Add(time.Duration(i)*time.Second), i%10
		d := campaign.NewScheduledDialout(engine.AttemptID(fmt.Sprintf("%012x%020x", at.UnixMilli(), i)),
			campaign.Dialout{Bot: "bot", To: engine.PhoneNumber(fmt.Sprintf("+49151%010d", i)),
				Times: contact.Times{NotBefore: &at, Priority: &priority}}, time.Now().UTC().Truncate(time.Microsecond))
		list = append(list, d)
		group = append(group, journal.Write{Schedule: &d, Events: []journal.Event{{At: d.CreatedAt,
			Type: journal.DialoutScheduled, Version: 1, Attempt: d.ID}}})
	}
	for part := range slices.Chunk(group, 250) { // the database waits three seconds for the rest of a transaction
		refused, err := s.Commit(t.Context(), part)
		if err = errors.Join(append(refused, err)...); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// indexReader gets the plans of the queries of scheduled dialouts.
type indexReader struct {
	t     *testing.T
	on    bool
	plans int
}

func (p *indexReader) TraceQueryStart(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if !p.on || !strings.Contains(q.SQL, "scheduled_dialouts") {
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
	p.plans++
	if !found[0].Plan.ranges() {
		p.t.Errorf("no range of the index is read:\n%s\n%s", q.SQL, text)
	}
	return ctx
}

func (p *indexReader) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// ranges says whether a plan reads the waiting dialouts by ranges of the index of their times, and single
// rows by their identifiers, and nothing else of them.
func (n *plan) ranges() bool {
	if n.Table == "scheduled_dialouts" && n.Node != "ModifyTable" && (n.Index == "" ||
		!strings.Contains(n.Index, "not_before") && !strings.Contains(n.Index, "id =")) {
		return false
	}
	for i := range n.Parts {
		if !n.Parts[i].ranges() {
			return false
		}
	}
	return true
}

func TestDueDialoutsAreARangeOfAnIndex(t *testing.T) {
	t.Parallel()
	url, plans := storetest.URL(t), &indexReader{t: t}
	s := storetest.OpenAt(t, url, persistence.Config{Tracer: plans})
	now := time.Now().UTC().Truncate(time.Microsecond)
	laterDialouts(t, s, now.Add(-time.Minute), 5000)
	run(t, url, "ANALYZE scheduled_dialouts")
	plans.on = true
	due, next, err := s.DueDialouts(t.Context(), now, time.Second, 100, nil)
	if err != nil || len(due) != 61 || next == nil || !next.After(now) {
		t.Errorf("%d due, next at %v, %v", len(due), next, err)
	}
	if plans.on = false; plans.plans != 2 {
		t.Errorf("%d plans", plans.plans)
	}
}

func TestTheAuditKnowsTheDialoutsThatWait(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	list := laterDialouts(t, s, time.Now().Add(time.Hour), 3)
	audit := func(want ...string) {
		t.Helper()
		a, err := s.Records.AuditLoose(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range a.Findings {
			got = append(got, f.String())
		}
		if len(got) != len(want) {
			t.Errorf("%q, want %q", got, want)
			return
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%q, want %q", got[i], want[i])
			}
		}
	}
	audit()
	end := list[0].Ended(engine.OutcomeCancelled, time.Now().UTC().Truncate(time.Microsecond), 0)
	refused, err := s.Commit(t.Context(), []journal.Write{{Unschedule: true, Attempts: []attempt.Attempt{end},
		Events: []journal.Event{{At: *end.EndedAt, Type: journal.AttemptEnded, Version: 1, Attempt: end.ID}}}})
	if err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	audit()
	run(t, url, "CREATE TABLE kept AS SELECT * FROM scheduled_dialouts")
	run(t, url, "DELETE FROM scheduled_dialouts WHERE id = '"+string(list[1].ID)+"'")
	audit("its row was removed")
	run(t, url, "INSERT INTO scheduled_dialouts SELECT * FROM kept WHERE id = '"+string(list[1].ID)+"'")
	audit()
	run(t, url, "UPDATE kept SET id = gen_random_uuid() WHERE id = '"+string(list[2].ID)+"'")
	run(t, url, "INSERT INTO scheduled_dialouts SELECT * FROM kept ON CONFLICT DO NOTHING")
	audit("its row was added")
	run(t, url, "DELETE FROM scheduled_dialouts WHERE id NOT IN ('"+string(list[1].ID)+"', '"+string(list[2].ID)+"')")
	run(t, url, "INSERT INTO scheduled_dialouts SELECT '"+string(list[0].ID)+"', bot_id, to_number, command, not_before, "+
		"expires_at, precedence, created_at, next_at FROM kept LIMIT 1")
	audit("dialled or has ended")
}

// The events of a month are dropped before those of the next: what was scheduled in it may have ended, or
// wait still.
func TestTheAuditKnowsTheDialoutsWhoseEventsWereDropped(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Microsecond)
	past := now.Add(-200 * day)
	if err := s.Maintain(ctx, past); err != nil { // the partitions of that time
		t.Fatal(err)
	}
	at := past
	state := dialout.New()
	do := func(event any) {
		t.Helper()
		for _, e := range state.Apply(dialout.Input{Now: at, Event: event}, nil) {
			p, ok := e.(dialout.Persist)
			if !ok {
				continue
			}
			if refused, err := s.Commit(ctx, []journal.Write{*p.Write}); err != nil || refused[0] != nil {
				t.Fatal(err, refused)
			}
		}
	}
	do(&dialout.BotsChanged{Bots: []engine.Bot{{ID: "bot", Active: true}}})
	for i, begin := range []time.Time{past.Add(time.Minute), past.Add(2 * time.Minute), now.Add(day)} {
		d := campaign.NewScheduledDialout(engine.AttemptID(fmt.Sprintf("%012x%020x", begin.UnixMilli(), i)),
			campaign.Dialout{Bot: "bot", To: engine.PhoneNumber(fmt.Sprintf("+49151%010d", i)), Who: engine.Who{Key: "key"},
				Times: contact.Times{NotBefore: &begin}}, past)
		at = past
		do(&dialout.Place{Command: d.Command, Attempt: d.ID})
		at = begin
		switch i {
		case 0:
			do(&dialout.Cancel{Dialout: d, Who: engine.Who{User: "usr"}})
		case 1:
			at = d.ExpiresAt
			do(&dialout.DueRead{Rows: []campaign.ScheduledDialout{d}})
		}
	}
	audit := func() {
		t.Helper()
		if a, err := s.Records.AuditLoose(ctx, keeper.Public()); err != nil || len(a.Findings) > 0 {
			t.Errorf("%v, %v", a.Findings, err)
		}
	}
	audit()
	keep := history.Keep{Events: 100 * day, Key: &keeper}
	if d, err := s.Records.Retain(ctx, now, keep); err != nil || len(d.Partitions) == 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	audit()
}
