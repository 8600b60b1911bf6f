package process

import (
	"context"
	"fmt"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/persistence"
)

// urlOf names both servers of a pair: the one that accepts writes is used.
func urlOf(primary, standby *replica) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?sslmode=disable"+
		"&target_session_attrs=read-write", primary.port, standby.port)
}

// forgets makes the primary stop waiting for its standby, which receives nothing from now on.
func (primary *replica) forgets(standby *replica) {
	t := primary.t
	t.Helper()
	do := func(n *replica, sql string) {
		if err := n.exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	do(primary, "ALTER SYSTEM SET synchronous_standby_names = ''")
	do(primary, "SELECT pg_reload_conf()")
	do(standby, "ALTER SYSTEM SET primary_conninfo = ''")
	do(standby, "SELECT pg_reload_conf()")
	eventually(t, "the standby hears nothing", func() bool {
		return standby.exec("DO $$ BEGIN IF EXISTS (SELECT FROM pg_stat_wal_receiver) THEN RAISE 'not yet'; END IF; "+
			"END $$") == nil
	})
}

// takesOver promotes the standby; the primary's last moments are lost.
func (standby *replica) takesOver(primary *replica) {
	standby.t.Helper()
	primary.kill()
	if err := standby.exec("SELECT pg_promote(false)"); err != nil {
		standby.t.Fatal(err)
	}
}

// calls places dialouts to n numbers, each of which then talks to a bot.
func (w *world) calls(n int) (to []string) {
	w.t.Helper()
	for range n {
		var rep struct {
			CallID engine.CallID `json:"call_id"`
		}
		to = append(to, newNumber())
		eventually(w.t, "a call is placed", func() bool { // nodes may still be dividing the counts
			r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": to[len(to)-1]})
			if r.status == 503 {
				return false
			}
			r.expect(201).into(&rep)
			return true
		})
		w.session(rep.CallID, "talks", func(s bot.Session) bool { return s.FramesIn > 0 })
	}
	return to
}

// refuses says whether a dialout to a held number got a decision.
func (w *world) refuses(to string) bool {
	w.t.Helper()
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": to})
	if r.status == 503 { // the database has only just come back
		return false
	}
	if r.status != 409 || r.code() != engine.CodeNumberHeld {
		w.t.Errorf("a second call to a number whose call may live: %s", r)
	}
	return true
}

// refusesAll checks that no dialout calls any of these numbers while its first call is live at the
// carrier, because the number is held.
func (w *world) refusesAll(model *carrier.Carrier, to []string) {
	w.t.Helper()
	for _, n := range to {
		eventually(w.t, "a dialout is decided", func() bool {
			if len(model.Ledger().To(engine.PhoneNumber(n)).Live()) == 0 {
				return true // after so long without the database, the nodes ended it
			}
			return w.refuses(n)
		})
	}
}

// The database fails over and has lost its last moments: it never heard of this process's calls.
// They are written to it before anyone else is called, so that the next process, after a kill -9,
// calls none of these people until the end of their calls is proven.
func TestACallThatAFailOverForgotIsHeldForTheNextProcessToo(t *testing.T) {
	t.Parallel()
	primary, standby := newPair(t)
	w := newWorldOn(t, urlOf(primary, standby), tuning{}, 0)
	w.silently(0)
	mute := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	second, err := carrier.Start(carrier.Config{Media: true, Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	host, port, err := splitHostPort(second.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("second", host, port, map[string]any{"priority": 1})
	w.tampered = true // the history has lost its last moments
	w.p.Close()
	first := w.another()
	t.Cleanup(first.kill)
	eventually(t, "it is ready", func() bool { return w.ready().status == 200 })

	primary.forgets(standby)
	to := w.calls(3)
	standby.takesOver(primary)
	eventually(t, "it is ready again", func() bool { return w.ready().status == 200 })
	w.refusesAll(mute, to)

	if live := len(mute.Ledger().Calls().Live()); live != len(to) {
		t.Fatalf("%d of %d calls live", live, len(to))
	}
	first.kill()
	_ = mute.Close() // nothing proves the end of those calls
	w.url = standby.url()
	s, err := persistence.Open(context.Background(), w.url, persistence.Config{SkipMigrations: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.AcceptRestore(context.Background(), engine.System)
	s.Close()
	if err != nil {
		t.Fatal(err)
	}
	next := w.another()
	t.Cleanup(next.kill)
	for _, n := range to {
		eventually(t, "a dialout is decided", func() bool { return w.refuses(n) })
	}
	if n := len(second.Ledger().Calls()); n > 0 {
		t.Errorf("%d people were called who are being talked to", n)
	}
	// Numbers that were not called can be called.
	w.operator("DELETE", "/api/v1/trunks/model", nil).expect(204)
	w.dialout(newNumber())
	eventually(t, "somebody else is called", func() bool { return len(second.Ledger().Calls()) > 0 })
}

// The same among nodes: another node calls none of the people that the first one is talking to.
func TestACallThatAFailOverForgotIsHeldForTheOtherNodesToo(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	primary, standby := newPair(t)
	url := urlOf(primary, standby)
	w, other := newClusterWorldOn(t, url, 0)
	w.silently(0)
	w.tampered = true
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	there := w.at(other.api)
	primary.forgets(standby)
	to := w.calls(4)
	standby.takesOver(primary)
	for _, n := range []*world{w, there} {
		eventually(t, "the node is ready again", func() bool { return n.send("GET", "/readyz", nil).status == 200 })
	}
	w.refusesAll(model, to)
	there.refusesAll(model, to)
	if o := model.Ledger().Overlaps(); len(o) > 0 {
		t.Errorf("people had two calls: %+v", o)
	}
}
