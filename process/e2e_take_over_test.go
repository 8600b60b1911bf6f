package process

import (
	"context"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
)

// mostTalks returns the maximum number of concurrent conversations, by the bot's own records.
func mostTalks(all []bot.Session) (most int) {
	for i := range all {
		n := 0
		for j := range all {
			if s := &all[j]; !s.OpenedAt.After(all[i].OpenedAt) && (s.EndedAt.IsZero() || s.EndedAt.After(all[i].OpenedAt)) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// A dialler with 20 live calls, some of them ringing, is replaced by another one, which calls the
// same people at once. By the records of the answerer and of the bot nobody has two calls, and no
// seat two people. The first dialler says that it was replaced, and ends when the second does.
func TestADiallerThatIsTakenOverEndsItsCallsBeforeTheOtherDials(t *testing.T) {
	t.Parallel()
	const people = 20
	w := newWorld(t, tuning{}, 0)
	w.silently(0)
	ringing := person(25 * time.Second)
	ringing.Weight = 1
	talking := person(50 * time.Millisecond)
	talking.Weight = 3
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{ringing, talking}})
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": people,
		"endpoints": []string{w.bot.URL()}, "auth_token": ourToken, "account": ourAccount}).expect(200)
	w.tampered = true // no audit while another process runs
	w.p.Close()
	first := w.another()
	t.Cleanup(first.kill)
	one := w.at(first.api)
	call := func(n *world, to string) {
		eventually(t, "a call is placed", func() bool {
			r := n.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": to})
			if r.status != 201 && r.status != 503 && (r.status != 409 || r.code() != engine.CodeNumberHeld) {
				t.Fatal(r)
			}
			return r.status == 201
		})
	}
	var to []string
	for range people {
		to = append(to, newNumber())
		call(one, to[len(to)-1])
	}
	talks := 0
	eventually(t, "most of them talk", func() bool {
		talks = 0
		for _, s := range w.bot.Sessions() {
			if s.FramesIn > 0 {
				talks++
			}
		}
		return talks >= people/3 && len(model.Ledger().Calls()) == people
	})
	if live := len(model.Ledger().Calls().Live()); live != people {
		t.Fatalf("%d of %d calls live", live, people)
	}

	second := serve(t, w.url, "--take-over", "--data-dir="+dataDir(t), "--spool-dir="+t.TempDir(),
		"--webhook-allow-private", "--recordings-dir="+t.TempDir())
	t.Cleanup(second.kill)
	if status, why := one.readiness(); status != 503 || !strings.Contains(why, "in use by") {
		t.Errorf("/readyz of the first: %d %s", status, why)
	}
	r := one.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
	if r.status != 503 || r.code() != "replaced" || r.header.Get("Retry-After") == "" {
		t.Errorf("%s, want 503 replaced", r)
	}
	two := w.at(second.api)
	for _, n := range to {
		call(two, n)
	}
	eventually(t, "some talk again", func() bool {
		n := 0
		for _, s := range w.bot.Sessions() {
			if s.EndedAt.IsZero() && s.FramesIn > 0 {
				n++
			}
		}
		return n >= people/3
	})
	eventually(t, "all are called again", func() bool { return len(model.Ledger().Calls()) == 2*people })
	if o := model.Ledger().Overlaps(); len(o) > 0 {
		t.Errorf("people had two calls: %+v", o)
	}
	if most := mostTalks(w.bot.Sessions()); most > people {
		t.Errorf("%d conversations on %d seats", most, people)
	}
	if status, why := two.readiness(); status != 200 || why != "" {
		t.Errorf("/readyz of the second: %d %s", status, why)
	}

	second.kill()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-first.read:
	case <-ctx.Done():
		t.Fatal("the first does not end")
	}
	_ = first.cmd.Wait()
	lines := strings.Split(strings.TrimSpace(first.log()), "\n")
	if said := lines[len(lines)-1]; first.cmd.ProcessState.ExitCode() != 1 ||
		said != "dialler: replaced: another process took this one's place and has ended; start this one again" {
		t.Errorf("the first ends with %d: %s", first.cmd.ProcessState.ExitCode(), said)
	}
}
