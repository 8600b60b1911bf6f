package call

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
)

// ledger checks that a contact or a dialout keeps the invariants that hold for every order of
// events.
type ledger struct {
	*rig
	rt       *rapid.T
	requests int
	written  int                                  // steps
	seen     int                                  // of the effects
	intent   map[engine.AttemptID]bool            // durable
	answered map[engine.AttemptID]int             // the step of the newest answer or further leg
	acked    int                                  // newest durable step, spooled or not
	freed    map[engine.AttemptID]int             // numbers given back
	ends     map[engine.AttemptID]int             // ends written
	placed   map[engine.AttemptID]bool            // INVITEs
	begun    map[engine.AttemptID]bool            // dials handed in
	fetching []*StoreResult                       // results whose attempt is being read
	asking   []*Dial                              // the hook is asked
	mayDial  []*Dial                              // the run is
	asked    map[engine.Request]int               // requests, and their answers
	stored   map[engine.AttemptID]attempt.Attempt // rows in the table
	trace    []string
}

// errInProgress refuses what came twice with one key.
var errInProgress = engine.Conflict("idempotency_in_progress", "")

func (l *ledger) request() engine.Request {
	l.requests++
	r := engine.Request(fmt.Sprintf("r%d", l.requests))
	l.asked[r] = 0
	return r
}

// trigger is one with a key of its own.
func (l *ledger) trigger() *Trigger {
	r := l.request()
	return &Trigger{Request: r, Command: campaign.Trigger{Idempotency: idempotency(string(r))}}
}

func (l *ledger) fail(format string, args ...any) {
	l.rt.Helper()
	l.rt.Fatalf("%s\nafter\n\t%s", fmt.Sprintf(format, args...), strings.Join(l.trace, "\n\t"))
}

func (l *ledger) step(event any) {
	l.trace = append(l.trace, fmt.Sprintf("%T %+v", event, event))
	l.clear()
	l.apply(event)
	l.trace = append(l.trace, "    "+strings.Join(l.log, "; "))
	for ; l.seen < len(l.all); l.seen++ {
		l.check(l.all[l.seen])
	}
}

func (l *ledger) check(e Effect) {
	switch e := e.(type) {
	case *Persist:
		if e.Step <= l.written {
			break // sent again
		}
		l.written = e.Step
		for i := range e.Write.Events {
			switch ev := &e.Write.Events[i]; ev.Type {
			case journal.AttemptEnded:
				if l.ends[ev.Attempt]++; l.ends[ev.Attempt] > 1 {
					l.fail("the end of an attempt is written twice")
				}
				// No network here says that an INVITE was not sent after all.
				if at := &e.Write.Attempts[0]; l.placed[ev.Attempt] && at.Legs[0].Proof == engine.ProofNotSent {
					l.fail("an INVITE has left, and its attempt ends as never sent")
				}
			case journal.AttemptAnswered, journal.LegAdded:
				l.answered[ev.Attempt] = e.Step
			}
		}
	case *PlaceLeg:
		id := e.Leg.Attempt
		l.placed[id] = true
		if !l.intent[id] {
			l.fail("an INVITE leaves before its intent is durable")
		}
		if !e.Peer && l.call.Machine.A.State == attempt.Ended {
			l.fail("an INVITE leaves after the end")
		}
	case attempt.Confirm:
		if id := l.call.Machine.A.ID; l.answered[id] > l.acked {
			l.fail("an ACK leaves before the answer is durable")
		}
	case *ReleaseNumber:
		if l.freed[e.Attempt]++; l.freed[e.Attempt] > 1 {
			l.fail("a number is given back twice")
		}
	case *Answer:
		if _, waits := l.asked[e.Request]; !waits {
			break
		}
		if l.asked[e.Request]++; l.asked[e.Request] > 1 {
			l.fail("a request is answered twice: %s", e.Request)
		}
	case *Suppress:
		if e.Request != "" {
			l.asked[e.Request]++
		}
	case *SendDigits:
		l.asked[e.Request]++
	case *FetchAttempt:
		l.fetching = append(l.fetching, e.Result)
	case *AskEligibility:
		l.asking = append(l.asking, e.Dial)
	case *MayDial:
		l.mayDial = append(l.mayDial, e.Dial)
	case *Refused:
		if errors.Is(e.Err, errUnknownEvent) {
			l.fail("an event is not known")
		}
	case *Idle:
		if l.contact.Busy() {
			l.fail("a busy contact says that it is idle")
		}
	}
}

// commit reports the oldest write.
func (l *ledger) commit(spooled bool, err error) {
	p := l.call.Pending[0]
	if spooled {
		l.acked = max(l.acked, p.Step)
		if p.Write.Intent != nil {
			l.intent[p.Write.Intent.Attempt] = true
		}
		l.step(&Durable{Step: p.Step, Spooled: true})
		return
	}
	if p.Spooled {
		err = nil
	}
	switch { // what a database refuses
	case err == nil || p.Write.Intent != nil:
	case p.Write.Reply != nil:
		err = errInProgress
	default:
		err = nil
	}
	if err == nil {
		for _, at := range p.Write.Attempts {
			l.stored[at.ID] = at
		}
		if p.Write.Intent != nil {
			l.intent[p.Write.Intent.Attempt] = true
		}
	}
	l.acked = max(l.acked, p.Step)
	l.step(&Durable{Step: p.Step, Err: err})
}

func (l *ledger) fetched(m *StoreResult) {
	id, _ := m.Call.Attempt()
	if at, ok := l.stored[id]; ok {
		l.step(fetched(m, &at, nil))
	} else {
		l.step(fetched(m, nil, ErrCallNotFound))
	}
}

func pop[E any](list *[]E) E {
	e := (*list)[0]
	*list = (*list)[1:]
	return e
}

// settle lets everything in progress finish.
func (l *ledger) settle() {
	for range 200 {
		switch {
		case len(l.call.Pending) > 0:
			l.commit(false, nil)
		case len(l.fetching) > 0:
			l.fetched(pop(&l.fetching))
		case len(l.asking) > 0:
			l.step(&EligibilityKnown{Dial: pop(&l.asking), Verdict: eligibility.Verdict{Decision: eligibility.Allow}})
		case len(l.mayDial) > 0:
			d := *pop(&l.mayDial)
			d.Eligible, d.Withdrawn = true, true
			l.step(&d)
		case l.contact.Lingering:
			l.step(&Rest{})
		case l.call.Live() && l.call.Machine.A.Ending == nil && l.call.Machine.A.ServedAt != nil:
			l.step(&End{HangUp: true})
		case l.call.Live() && l.call.Machine.A.State == attempt.Dialling && !l.legOpen():
			l.step(&TrunkReserved{Attempt: l.call.Machine.A.ID, Leg: l.call.Machine.NextLeg()})
		case l.call.Live() || l.call.Watching > 0:
			if !l.endLeg() {
				l.step(&LegsGone{Attempt: l.call.Machine.A.ID})
			}
		case l.contact.Busy():
			l.fail("the contact stays busy: %+v", l.contact)
		default:
			return
		}
	}
	l.fail("no end")
}

func (l *ledger) legOpen() bool {
	for _, leg := range l.call.Machine.A.Legs {
		if leg.EndedAt == nil {
			return true
		}
	}
	return false
}

func (l *ledger) endLeg() bool {
	for i, leg := range l.call.Machine.A.Legs {
		if leg.EndedAt == nil {
			l.step(l.leg(i+1, engine.LegClosed, proven(engine.ProofBye)))
			return true
		}
	}
	return false
}

func TestWhateverHappensToAContact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.p.eligible = rapid.Bool().Draw(rt, "eligible")
		r.p.shared = rapid.Bool().Draw(rt, "shared")
		r.contact = NewContact(rowOf(nil), rulesOf(func(rl *Rules) {
			rl.Attempt.OptOut = '9'
			rl.Policy.Redial.Delay = 0
		}), limits, nil)
		r.call = &r.contact.Call
		l := &ledger{rig: r, rt: rt, intent: map[engine.AttemptID]bool{}, answered: map[engine.AttemptID]int{},
			freed: map[engine.AttemptID]int{},
			ends:  map[engine.AttemptID]int{}, begun: map[engine.AttemptID]bool{}, asked: map[engine.Request]int{},
			stored: map[engine.AttemptID]attempt.Attempt{}, placed: map[engine.AttemptID]bool{}}
		l.step(&Started{})
		dials := 0
		for range rapid.IntRange(1, 40).Draw(rt, "events") {
			l.now = l.now.Add(time.Second)
			l.boot = l.boot.Add(time.Second)
			a := &r.call.Machine.A
			switch rapid.SampledFrom([]string{"dial", "trigger", "commit", "commit", "commit", "spool", "refuse",
				"sent", "ring", "answer", "refused", "hung up", "closed",
				"seat", "bot", "bot failed", "digit", "exclude", "readmit", "end", "hang up", "keys", "result",
				"fetched", "eligible", "may dial", "timer", "reopen", "report",
				"show", "rest", "trunk", "no trunk", "legs gone", "operate", "transfer", "suppressed"}).Draw(rt,
				"event") {
			case "dial", "trigger":
				if dials == 3 || len(l.asking)+len(l.mayDial) > 0 || r.call.Watching > 0 {
					continue // the run dials contacts at rest
				}
				id := []engine.AttemptID{first, second, third}[dials]
				dials++
				d := dialOf(id)
				if rapid.Bool().Draw(rt, "triggered") {
					d.Trigger = l.trigger()
					d.Reopens = !l.contact.Machine.C.Open()
				}
				l.begun[id] = true
				l.media = 0
				l.step(d)
			case "commit":
				if len(r.call.Pending) > 0 {
					l.commit(false, nil)
				}
			case "spool":
				if len(r.call.Pending) > 0 && !r.call.Pending[0].Spooled {
					l.commit(true, nil)
				}
			case "refuse":
				if len(r.call.Pending) > 0 {
					l.commit(false, rapid.SampledFrom([]error{journal.ErrNumberHeld, journal.ErrSuppressed,
						journal.ErrStaleEpoch}).Draw(rt, "why"))
				}
			case "sent", "ring", "answer", "refused", "hung up", "closed":
				l.network(rt)
			case "seat":
				l.step(&SeatGranted{Attempt: a.ID})
			case "bot":
				if a.Session != "" {
					l.step(l.mediaEvent(engine.MediaBotConnected))
				}
			case "bot failed":
				if a.Session != "" {
					l.step(l.mediaEvent(engine.MediaBotFailed))
				}
			case "digit":
				if a.AnsweredAt != nil {
					l.step(l.mediaEvent(engine.MediaDigit, func(e *engine.MediaEvent) { e.Digit = '9' }))
				}
			case "exclude":
				l.step(&Exclude{Op: 1})
			case "readmit":
				l.step(&Readmit{Op: 1})
			case "end":
				l.step(&End{Op: 1})
			case "hang up":
				l.step(&End{HangUp: true})
			case "suppressed":
				l.step(&End{Op: 1, Reason: engine.CodeSuppressed})
			case "keys":
				l.step(&Keys{Attempt: a.ID, Digits: rapid.SampledFrom([]string{"", "1"}).Draw(rt, "keys"),
					Request: l.request()})
			case "result":
				m := resultOf(rapid.SampledFrom([]engine.AttemptID{first, second}).Draw(rt, "of"))
				m.Request = l.request()
				m.Result.DoNotCall = rapid.Bool().Draw(rt, "do not call")
				l.step(m)
			case "fetched":
				if len(l.fetching) > 0 {
					l.fetched(pop(&l.fetching))
				}
			case "eligible":
				if len(l.asking) > 0 {
					l.step(&EligibilityKnown{Dial: pop(&l.asking),
						Verdict: eligibility.Verdict{Until: l.now.Add(time.Hour),
							Decision: rapid.SampledFrom([]eligibility.Decision{eligibility.Allow, eligibility.Allow,
								eligibility.Defer, eligibility.Exclude}).Draw(rt, "verdict")}})
				}
			case "may dial":
				if len(l.mayDial) > 0 {
					d := *pop(&l.mayDial)
					d.Eligible, d.Withdrawn = true, rapid.Bool().Draw(rt, "withdrawn")
					l.step(&d)
				}
			case "timer":
				if n := len(l.all); n > 0 {
					for i := n - 1; i >= 0; i-- {
						if arm, ok := l.all[i].(*Arm); ok {
							l.step(&arm.Fired)
							break
						}
					}
				}
			case "reopen":
				l.step(&Reopen{Trigger: l.trigger()})
			case "report":
				l.step(&Report{})
				// The trigger of a dial that waits for the hook or the run stays unanswered, and a
				// dial that waits for the run keeps its leases.
				for _, d := range append(l.asking, l.mayDial...) {
					if d.Trigger != nil {
						delete(l.asked, d.Trigger.Request)
					}
				}
				for len(l.mayDial) > 0 {
					delete(l.begun, pop(&l.mayDial).Attempt)
				}
			case "show":
				l.step(&Show{Attempt: a.ID, Request: l.request()})
			case "rest":
				l.step(&Rest{})
			case "trunk":
				if r.call.Live() && a.State == attempt.Dialling && !l.legOpen() {
					l.step(&TrunkReserved{Attempt: a.ID, Leg: r.call.Machine.NextLeg(), Trunk: "other"})
				}
			case "no trunk":
				if r.call.Live() && a.State == attempt.Dialling && !l.legOpen() {
					l.step(&TrunkReserved{Attempt: a.ID, Leg: r.call.Machine.NextLeg()})
				}
			case "legs gone":
				l.step(&LegsGone{Attempt: a.ID})
			case "operate":
				l.step(&Operate{Command: campaign.ActOnContact{Action: campaign.RetryNow}, Request: l.request()})
			case "transfer":
				l.step(&Transfer{Attempt: a.ID, To: "+4930", Request: l.request()})
			}
		}
		l.settle()
		for id := range l.begun {
			if l.freed[id] != 1 {
				l.fail("the number of %s was given back %d times", id, l.freed[id])
			}
		}
		for req, n := range l.asked {
			if n != 1 {
				l.fail("%s was answered %d times", req, n)
			}
		}
		if c := r.contact.Machine.C; c.Attempt != "" {
			l.fail("the contact is being called: %+v", c)
		}
	})
}

// network lets the newest leg to the callee proceed.
func (l *ledger) network(rt *rapid.T) {
	a := &l.call.Machine.A
	placed := false
	for _, e := range l.all {
		if p, ok := e.(*PlaceLeg); ok && !p.Peer && len(a.Legs) > 0 && p.Leg.Leg == a.Legs[len(a.Legs)-1].ID {
			placed = true
		}
	}
	if !placed {
		return
	}
	leg := &a.Legs[len(a.Legs)-1]
	n := len(a.Legs)
	switch {
	case leg.EndedAt != nil:
	case leg.SentAt == nil && l.seq[leg.ID] == 0:
		l.step(l.leg(n, engine.LegSent))
	case leg.Dialog == nil:
		switch rapid.SampledFrom([]string{"ring", "answer", "answer", "refused", "busy", "silent"}).Draw(rt,
			"network") {
		case "ring":
			l.step(l.leg(n, engine.LegProvisional, code(180)))
		case "answer":
			l.step(l.leg(n, engine.LegAnswered, answered))
		case "refused":
			l.step(l.leg(n, engine.LegRefused, code(503)))
		case "busy":
			l.step(l.leg(n, engine.LegRefused, code(486)))
		case "silent":
			l.step(l.leg(n, engine.LegClosed))
		}
	default:
		l.step(l.leg(n, engine.LegHungUp))
	}
}
