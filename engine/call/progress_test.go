package call

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/webhook"
)

// progressNames are the types that tell a call's progress.
var progressNames = slices.DeleteFunc(webhook.Names(), func(n string) bool { return !strings.HasPrefix(n, "call.") })

// toldOf is one message about a call.
type toldOf struct {
	Type      string
	Timestamp time.Time
	Data      map[string]any
}

// progress is what endpoints are told of the rig's calls. Who reads the history does so late: the rows say how
// each call ended.
func (r *rig) progress() (out []toldOf) {
	r.t.Helper()
	rows := map[engine.AttemptID]*attempt.Attempt{}
	var events []journal.Event
	seen := map[int]bool{}
	for _, e := range r.all {
		p, ok := e.(*Persist)
		if !ok || seen[p.Step] { // repeated
			continue
		}
		seen[p.Step] = true
		for i := range p.Write.Attempts {
			rows[p.Write.Attempts[i].ID] = &p.Write.Attempts[i]
		}
		events = append(events, p.Write.Events...)
	}
	for i, e := range events {
		if e.Campaign != "" {
			e.Seq = int64(i + 1)
		}
		for _, m := range webhook.Messages(&webhook.Fact{Event: e, Call: rows[e.Attempt]}, progressNames) {
			var v toldOf
			if err := json.Unmarshal(m.Body, &v); err != nil {
				r.t.Fatal(err)
			}
			out = append(out, v)
		}
	}
	return out
}

// rings dials and has the phone ring.
func (r *rig) rings(id engine.AttemptID) {
	r.t.Helper()
	r.dialled(id)
	r.ring(180)
}

func (r *rig) ring(status int) {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	r.apply(r.leg(1, engine.LegProvisional, code(status)))
	r.durable(r.call.Step)
	r.now = r.now.Add(time.Second)
}

func (r *rig) picksUp() {
	r.t.Helper()
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(r.call.Step)
}

func (r *rig) hangsUp() {
	r.t.Helper()
	r.now = r.now.Add(time.Second)
	r.apply(r.leg(1, engine.LegHungUp))
	r.durable(r.call.Step)
}

func TestWhatIsToldOfACallOfEachKind(t *testing.T) {
	told := func(r *rig) { r.p.tellsRinging = true }
	sequential := func(rl *Rules) { rl.Attempt.AMD = engine.AMDSequential }
	for kind, f := range map[string]struct {
		rules func(*Rules)
		call  func(r *rig)
		want  string
	}{
		"answered": {nil, func(r *rig) {
			r.rings(first)
			r.ring(180) // repeated
			r.conversation()
			r.hangsUp()
		}, "initiated ringing answered bridged ended"},
		"answered without a sign that it rang": {nil, func(r *rig) {
			r.talking(first)
			r.hangsUp()
		}, "initiated answered bridged ended"},
		"busy": {nil, func(r *rig) {
			r.dialled(first)
			r.apply(r.leg(1, engine.LegRefused, code(486)))
		}, "initiated ended"},
		"no answer": {nil, func(r *rig) {
			r.rings(first)
			r.apply(&TimerFired{Attempt: first, Timer: attempt.TimerRing, Epoch: last[*Arm](r).Fired.Epoch})
			r.apply(r.leg(1, engine.LegRefused, code(487)))
		}, "initiated ringing ended"},
		"a machine": {sequential, func(r *rig) {
			r.rings(first)
			r.picksUp()
			r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictMachine }))
			r.apply(r.leg(1, engine.LegClosed, proven(engine.ProofBye)))
		}, "initiated ringing answered ended"},
		"abandoned": {nil, func(r *rig) {
			r.rings(first)
			r.picksUp()
			r.now = r.now.Add(attempt.BridgeBudget)
			bridge := last[*Arm](r)
			r.apply(&bridge.Fired)
			r.durable(r.call.Step)
			r.hangsUp()
		}, "initiated ringing answered ended"},
		"transferred": {func(rl *Rules) {
			rl.Attempt.Transfers = attempt.TransferRules{Allowed: []string{"+4930999999"}, Limit: 3}
		}, func(r *rig) {
			r.rings(first)
			r.conversation()
			r.apply(&Transfer{Attempt: first, To: "+4930999999", Request: someone})
			r.apply(&TrunkReserved{Attempt: first, Leg: r.call.Machine.NextLeg(), Trunk: "trunk",
				Media: &engine.MediaProfile{}, Validity: Validity{By: 5000}})
			r.durable(r.call.Step)
			r.apply(r.leg(2, engine.LegSent))
			r.apply(r.leg(2, engine.LegProvisional, code(180))) // the target's phone
			r.hangsUp()
		}, "initiated ringing answered bridged ended"},
		"another trunk": {nil, func(r *rig) {
			r.rings(first)
			r.apply(r.leg(1, engine.LegRefused, code(503)))
			r.apply(&TrunkReserved{Attempt: first, Leg: r.call.Machine.NextLeg(), Trunk: "other",
				Media: &engine.MediaProfile{}, Validity: Validity{By: 5000}})
			r.durable(r.call.Step)
			r.apply(r.leg(2, engine.LegSent))
			r.apply(r.leg(2, engine.LegProvisional, code(180)))
			r.apply(r.leg(2, engine.LegRefused, code(486)))
		}, "initiated ringing ended"},
		"refused by the database": {nil, func(r *rig) {
			r.apply(dialOf(first))
			r.apply(&Durable{Step: r.call.Step, Err: journal.ErrNumberHeld})
		}, "ended"},
		"excluded while it rings": {nil, func(r *rig) {
			r.rings(first)
			r.apply(&Exclude{Op: 4})
			r.apply(r.leg(1, engine.LegRefused, code(487)))
		}, "initiated ringing ended"},
	} {
		r := up(t, nil, f.rules)
		told(r)
		f.call(r)
		if r.call.Live() {
			t.Errorf("%s: the call is not over", kind)
		}
		compare(t, kind, r.progress(), f.want)
	}

	// Outside campaigns there is no campaign's sequence: the stages are numbered.
	r := dialoutRig(t)
	told(r)
	r.apply(placed1(first))
	r.durable(1)
	r.apply(r.leg(1, engine.LegSent))
	r.ring(180)
	r.picksUp()
	r.apply(last[*ToSelf](r).Event)
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	r.hangsUp()
	list := r.progress()
	compare(t, "a dialout", list, "initiated ringing answered bridged ended")
	for i, m := range list {
		if m.Data["sequence"] != float64(i+1) || m.Data["call_id"] != string(first.Call()) {
			t.Errorf("%+v", m)
		}
	}

	// Who calls us is told by inbound.ended alone.
	r = dialoutRig(t)
	told(r)
	r.apply(cameIn("bot"))
	r.durable(1)
	r.picksUp()
	r.apply(last[*ToSelf](r).Event)
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	r.hangsUp()
	compare(t, "a call that came in", r.progress(), "")
}

func compare(t *testing.T, kind string, list []toldOf, want string) {
	t.Helper()
	var got []string
	sequence, at := 0.0, time.Time{}
	for _, m := range list {
		stage := strings.TrimPrefix(m.Type, "call.")
		got = append(got, stage)
		if n := m.Data["sequence"].(float64); n <= sequence {
			t.Errorf("%s: %s has the sequence %v, after %v", kind, m.Type, n, sequence)
		} else {
			sequence = n
		}
		if m.Timestamp.Before(at) {
			t.Errorf("%s: %s was at %s, before %s", kind, m.Type, m.Timestamp, at)
		}
		at = m.Timestamp
		has := func(name string, stages ...string) {
			t.Helper()
			if _, ok := m.Data[name]; ok && !slices.Contains(stages, stage) {
				t.Errorf("%s: %s knows %s already", kind, m.Type, name)
			}
		}
		has("invite_at", "ringing", "answered", "bridged", "ended")
		has("ringing_at", "ringing", "answered", "bridged", "ended")
		has("answered_at", "answered", "bridged", "ended")
		has("ring_ms", "answered", "bridged", "ended")
		has("bot_connected_at", "bridged", "ended")
		has("outcome", "ended")
		has("ended_at", "ended")
		field := map[string]string{"ringing": "ringing_at", "answered": "answered_at", "ended": "ended_at"}[stage]
		if field != "" && m.Data[field] != m.Timestamp.Format(time.RFC3339Nano) {
			t.Errorf("%s: %s is of %s, %s is %v", kind, m.Type, m.Timestamp, field, m.Data[field])
		}
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%s: told %q, want %q", kind, s, want)
	}
}

// Nothing is written for a ringing phone of which nobody is to be told.
func TestRingingIsWrittenOnlyForWhoIsToBeTold(t *testing.T) {
	for _, told := range []bool{false, true} {
		r := up(t, nil, nil)
		r.p.tellsRinging = told
		r.dialled(first)
		r.apply(r.leg(1, engine.LegProvisional, code(180)))
		if got := r.has("write 2 attempt.ringing"); got != told {
			t.Errorf("asked %v: %v", told, r.log)
		}
		if !told {
			continue
		}
		w := r.write()
		if !w.Patient() || !w.Spoolable() || len(w.Contacts) != 0 || w.Attempts[0].RingingAt == nil ||
			w.Attempts[0].State != attempt.Ringing || w.Events[0].Data.Pass != 1 {
			t.Errorf("%+v", w)
		}
		// The answer waits for its own write, not for this one's news.
		r.clear()
		r.apply(r.leg(1, engine.LegAnswered, answered))
		if r.has("confirm") {
			t.Errorf("the ACK leaves before the answer is durable: %v", r.log)
		}
		r.clear()
		r.on(&Durable{Step: 2})
		r.on(&Durable{Step: 3}, "confirm a.1")
	}
}

// Where a call is told of is stored together with what the request begins, and once.
func TestWhereACallIsToldOfIsStoredWithIt(t *testing.T) {
	told := &campaign.StatusCallback{URL: "https://crm.example.org/calls", Endpoint: "whk_1"}
	f := func(what string, w *journal.Write, subject string) {
		t.Helper()
		switch {
		case subject == "" && w.Status != nil:
			t.Errorf("%s: %+v", what, w.Status)
		case subject != "" && (w.Status == nil || w.Status.Subject != subject || w.Status.URL != told.URL ||
			w.Status.Endpoint != "whk_1" || w.Status.At.IsZero()):
			t.Errorf("%s: %+v", what, w.Status)
		}
	}
	r := dialoutRig(t)
	r.apply(placed1(first))
	f("a dialout without", r.write(), "")
	for scheduled, subject := range map[bool]string{false: string(first), true: ""} { // stored when it was scheduled
		r = dialoutRig(t)
		p := placed1(first)
		p.Command.Status, p.Scheduled = told, scheduled
		r.apply(p)
		f("a dialout", r.write(), subject)
		r.durable(1)
		r.apply(r.leg(1, engine.LegSent))
		r.apply(r.leg(1, engine.LegRefused, code(486)))
		f("its end", r.write(), "")
	}
	trigger := &Trigger{Request: someone, Command: campaign.Trigger{Campaign: "cmp", Number: callee, Status: told}}
	r = up(t, nil, nil)
	d := dialOf(first)
	d.Trigger = trigger
	r.apply(d)
	f("a trigger that is dialled", r.write(), "contact")
	r = up(t, nil, nil)
	r.apply(&Reopen{Trigger: trigger})
	f("a trigger that is merged", r.write(), "contact")
}
