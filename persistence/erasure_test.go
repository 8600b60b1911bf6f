package persistence_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

// A message of a call that ended a moment ago is being made while its person is erased: it is not left
// behind.
func TestAMessageThatIsBeingMadeIsErasedToo(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	const number, id = engine.PhoneNumber("+4915112345678"), "0123456789abcdef0123456789abcdef"
	now := time.Now().UTC().Truncate(time.Microsecond)
	refused, err := s.Commit(t.Context(), []journal.Write{{Attempts: []attempt.Attempt{{ID: id, To: number,
		State: attempt.Ended, ReservedAt: &now, EndedAt: &now, Outcome: engine.OutcomeCancelled}}}})
	if err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, sql := range []string{"BEGIN", "SELECT FROM webhook_follower FOR UPDATE",
		`INSERT INTO webhook_messages (id, type, campaign_id, subject, body, created_at)
			VALUES ('msg_1', 'dialout.ended', '', '` + id + `', '` + string(number) + `', now())`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	erased := make(chan error, 1)
	go func() {
		_, err := s.Records.ErasePerson(t.Context(), history.Erasure{Number: number,
			Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "1"), At: now})
		erased <- err
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waits := 0; waits == 0; <-tick.C {
		select {
		case err := <-erased:
			t.Fatalf("erased beside the message: %v", err)
		default:
		}
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = "+
			"ANY(pg_blocking_pids(pid))").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-erased; err != nil {
		t.Fatal(err)
	}
	var left int
	if err := s.QueryRow(t.Context(), "SELECT count(*) FROM webhook_messages", &left); err != nil || left != 0 {
		t.Errorf("%d messages are left, %v", left, err)
	}
}

// Two persons share a landline. When one is erased the number stays the other's: it is not suppressed for
// what the erased person asked, nor by what the other asked is the erased person; and while a call that
// the erased person was abandoned in restricts us, or counts for the caps, it is not dialled.
func TestANumberThatSomebodyElseHasTooStaysTheirs(t *testing.T) {
	t.Parallel()
	const first, shared, own, other = engine.PhoneNumber("+4915112345671"), engine.PhoneNumber("+493012345672"),
		engine.PhoneNumber("+4915112345673"), engine.PhoneNumber("+4915112345674")
	now := time.Now().UTC().Truncate(time.Microsecond)
	for _, tc := range []struct {
		what             string
		ended            time.Duration // before the erasure
		outcome          engine.Outcome
		suppress, listed bool
		rests            time.Duration // from the erasure, 0: the shared number may be called
	}{
		{"abandoned", time.Hour, engine.OutcomeAbandoned, false, false, 71 * time.Hour},
		{"abandoned, suppressed", time.Hour, engine.OutcomeAbandoned, true, false, 71 * time.Hour},
		{"called", time.Hour, engine.OutcomeNoAnswer, false, false, 5 * time.Hour},
		{"called long ago, suppressed", 100 * time.Hour, engine.OutcomeNoAnswer, true, false, 0},
		{"the other asked", 100 * time.Hour, engine.OutcomeNoAnswer, false, true, 0},
		{"the other asked, suppressed", 100 * time.Hour, engine.OutcomeNoAnswer, true, true, 0},
	} {
		t.Run(tc.what, func(t *testing.T) {
			t.Parallel()
			s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
			c := campaign.Campaign{ID: "cmp_shared", State: campaign.Draft, Run: 1, CreatedAt: now,
				Settings: campaign.Settings{Name: "shared", MaxAttempts: 5}}
			if err := s.InsertCampaign(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			c, err := s.AcquireCampaign(t.Context(), c.ID)
			if err != nil {
				t.Fatal(err)
			}
			person := func(id string, n engine.PhoneNumber, others ...engine.PhoneNumber) contact.Contact {
				list := make([]contact.Alternate, len(others))
				for i := range others {
					list[i].Number = others[i]
				}
				return contact.Contact{ID: engine.ContactID(strings.Repeat(id, 16)), Campaign: c.ID, Run: 1, Number: n,
					State: contact.Completed, Version: 1, CreatedAt: now, UpdatedAt: now, Alternates: contact.NewAlternates(list)}
			}
			at := now.Add(-tc.ended)
			gone := person("c1", first, own, shared)
			w := journal.Write{Campaign: c.ID, Epoch: c.Epoch, Contacts: []contact.Contact{gone, person("c2", other, shared)},
				Attempts: []attempt.Attempt{{ID: engine.AttemptID(strings.Repeat("a1", 16)), Campaign: c.ID, Contact: gone.ID,
					Run: 1, To: shared, State: attempt.Ended, ReservedAt: &at, EndedAt: &at, Outcome: tc.outcome, Consumed: true}}}
			if tc.listed {
				w.Suppressions = []journal.Suppression{{Number: shared, Reason: "do_not_call", CreatedAt: now}}
			}
			if refused, err := s.Commit(t.Context(), []journal.Write{w}); err != nil || refused[0] != nil {
				t.Fatal(err, refused)
			}
			if found, err := s.Records.Traces(t.Context(), first); err != nil || found.Asked ||
				!slices.Equal(found.Numbers, []engine.PhoneNumber{own, shared}) {
				t.Errorf("found: %+v, %v", found, err)
			}
			done, err := s.Records.ErasePerson(t.Context(), history.Erasure{Number: first, Suppress: tc.suppress, At: now,
				Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "1"), CalleePeriod: 6 * time.Hour})
			if err != nil || done.Attempts != 1 || done.RestsUntil != nil {
				t.Fatalf("%+v, %v", done, err)
			}
			found, err := s.Suppressed(t.Context(), first, own, shared, other)
			if err != nil {
				t.Fatal(err)
			}
			for n, want := range map[engine.PhoneNumber]bool{first: tc.suppress, own: tc.suppress,
				shared: tc.listed, other: false} {
				if _, ok := found[n]; ok != want {
					t.Errorf("number %d is blocked: %v", slices.Index([]engine.PhoneNumber{first, own, shared, other}, n), ok)
				}
			}
			// A call to the other there waits until then, and is not refused for good.
			x := journal.Write{Attempts: []attempt.Attempt{{ID: engine.AttemptID(strings.Repeat("b1", 16)), To: shared,
				State: attempt.Reserved, ReservedAt: &now}}}
			x.Intent = &journal.Intent{Attempt: x.Attempts[0].ID, Number: shared, Bound: now.Add(time.Hour)}
			refused, err := s.Commit(t.Context(), []journal.Write{x})
			var why *engine.Error
			switch errors.As(refused[0], &why); {
			case err != nil:
				t.Error(err)
			case tc.listed:
				if !errors.Is(refused[0], journal.ErrSuppressed) {
					t.Errorf("what the other asked: %v", refused[0])
				}
			case tc.rests > 0:
				if why == nil || why.Code != engine.CodeCalleeCap || why.Until.Sub(now) != tc.rests {
					t.Errorf("while it rests: %v", refused[0])
				}
			case refused[0] != nil:
				t.Errorf("it may be called: %v", refused[0])
			}
			if tc.listed && found[shared].Reason != "do_not_call" {
				t.Errorf("what the other asked is gone: %+v", found[shared])
			}
			var rests int
			if err := s.QueryRow(t.Context(), "SELECT coalesce(extract(epoch FROM max(until) - '"+
				now.Format(time.RFC3339Nano)+"')::int, 0) FROM suppressions", &rests); err != nil ||
				rests != int(tc.rests.Seconds()) {
				t.Errorf("the shared number rests for %d s, want %v; %v", rests, tc.rests, err)
			}
		})
	}
}

// Two persons share a landline, and both called back from it. When one is erased their call back is erased
// with what was copied into it and said in it, and is waited for while it lives; the other's stays.
func TestACallBackFromASharedNumberIsErasedWithItsPerson(t *testing.T) {
	t.Parallel()
	const first, shared, other = engine.PhoneNumber("+4915112345671"), engine.PhoneNumber("+493012345672"),
		engine.PhoneNumber("+4915112345674")
	now := time.Now().UTC().Truncate(time.Microsecond)
	at := now.Add(-100 * time.Hour)
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	c := campaign.Campaign{ID: "cmp_shared", State: campaign.Draft, Run: 1, CreatedAt: now,
		Settings: campaign.Settings{Name: "shared", MaxAttempts: 5}}
	if err := s.InsertCampaign(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	w := journal.Write{Campaign: c.ID, Epoch: c.Epoch}
	back := map[string]*attempt.Attempt{}
	for id, n := range map[string]engine.PhoneNumber{"1": first, "2": other} {
		k := contact.Contact{ID: engine.ContactID(strings.Repeat("c"+id, 16)), Campaign: c.ID, Run: 1, Number: n,
			State: contact.Completed, Version: 1, CreatedAt: now, UpdatedAt: now,
			Alternates: contact.NewAlternates([]contact.Alternate{{Number: shared}})}
		missed := attempt.Attempt{ID: engine.AttemptID(strings.Repeat("a"+id, 16)), Campaign: c.ID, Contact: k.ID, Run: 1,
			To: shared, State: attempt.Ended, ReservedAt: &at, EndedAt: &at, Outcome: engine.OutcomeNoAnswer}
		w.Contacts, w.Attempts = append(w.Contacts, k), append(w.Attempts, missed)
		back[id] = &attempt.Attempt{ID: engine.AttemptID(strings.Repeat("b"+id, 16)), Inbound: true, Returns: missed.ID,
			To: shared, State: attempt.Connected, ReservedAt: &at, ServedAt: &at, Variables: map[string]string{"name": "Ann"}}
	}
	commit := func(w ...journal.Write) {
		t.Helper()
		if refused, err := s.Commit(t.Context(), w); err != nil || slices.ContainsFunc(refused,
			func(err error) bool { return err != nil }) {
			t.Fatal(err, refused)
		}
	}
	commit(w, journal.Write{Attempts: []attempt.Attempt{*back["1"], *back["2"]}})
	end := func(a *attempt.Attempt) {
		a.State, a.EndedAt, a.Outcome = attempt.Ended, &at, engine.OutcomeCompleted
		a.Result = &attempt.Result{Disposition: "sold", Summary: "Ann is ill"}
		commit(journal.Write{Attempts: []attempt.Attempt{*a}})
	}
	e := history.Erasure{Number: first, At: now, Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "1")}
	if _, err := s.Records.ErasePerson(t.Context(), e); engine.ErrorCode(err) != "person_in_call" {
		t.Fatalf("erased while they call back: %v", err)
	}
	end(back["1"])
	end(back["2"])
	if done, err := s.Records.ErasePerson(t.Context(), e); err != nil || done.Attempts != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	for id, want := range map[string]string{"1": string(e.Tombstone) + " -", "2": string(shared) + " Ann Ann is ill"} {
		var got string
		if err := s.QueryRow(t.Context(), "SELECT concat_ws(' ', to_number, coalesce(variables->>'name', '-'), "+
			"result->>'summary') FROM attempts WHERE id = '"+string(back[id].ID)+"'", &got); err != nil || got != want {
			t.Errorf("call back %s: %q, want %q; %v", id, got, want, err)
		}
	}
}
