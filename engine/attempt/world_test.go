package attempt

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

const attemptID engine.AttemptID = "0123456789abcdef0123456789abcdef"

var t0 = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// reporter is what testing.T and rapid.T have in common.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world drives one machine and keeps the records of everything that its effects reach: the run
// (seat, line), the trunks (channels), the telephony port. Each step checks the effects against the
// package's contract.
type world struct {
	tb  reporter
	m   Machine
	now time.Time
	log []string

	seat                    bool // the run's view
	over, served, abandoned int
	tentative, revised      int // of the served; counted is how many were reported as final
	counted                 int
	closed, freed, lineOver int
	attached                int
	channels                map[engine.LegID]int // number of Over per leg
	returned                int                  // channels given back that no leg used
	mediaSeq                int
	legSeq                  map[engine.LegID]int
	armed                   map[Timer]Arm
	dialled                 map[engine.LegID]int // far legs
	last                    []Effect
	proven                  map[engine.LegID]bool // legs whose end was proven
}

func newWorld(tb reporter, cfg Config) *world {
	if cfg.RingTimeout == 0 {
		cfg.RingTimeout = 30 * time.Second
	}
	if cfg.CallLimit == 0 {
		cfg.CallLimit = 15 * time.Minute
	}
	cfg.OptOut = '9'
	return &world{
		tb: tb, now: t0,
		m: Machine{Config: cfg, A: Attempt{ID: attemptID, State: Reserved, Trunk: "a", Number: 1,
			To: "+4915112345678", From: "+4930123456", SendBy: t0.Add(10 * time.Second)}},
		channels: map[engine.LegID]int{}, legSeq: map[engine.LegID]int{}, armed: map[Timer]Arm{},
		dialled: map[engine.LegID]int{}, proven: map[engine.LegID]bool{},
	}
}

// clone copies the world, so that several events can be tried from one state.
func (w *world) clone(tb reporter) *world {
	c := *w
	c.tb = tb
	c.m.A.Legs, c.m.A.Peers = slices.Clone(w.m.A.Legs), slices.Clone(w.m.A.Peers)
	c.channels, c.legSeq, c.armed = cloneMap(w.channels), cloneMap(w.legSeq), cloneMap(w.armed)
	c.dialled, c.proven = cloneMap(w.dialled), cloneMap(w.proven)
	c.log = slices.Clone(w.log)
	return &c
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func (w *world) fail(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf("%s\nafter\n  %s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n  "))
}

func copyAttempt(a *Attempt) Attempt {
	c := *a
	c.Legs, c.Peers = slices.Clone(a.Legs), slices.Clone(a.Peers)
	return c
}

// apply takes one event and checks the step. It returns the error of an illegal event.
func (w *world) apply(ev Event) error {
	w.tb.Helper()
	if ev.At.IsZero() {
		ev.At = w.now
	}
	before, epochs := copyAttempt(&w.m.A), w.m.epochs
	effects, err := w.m.Apply(ev, nil)
	w.last = effects
	w.log = append(w.log, fmt.Sprintf("%s %s → %s %s", ev.At.Sub(t0), describe(ev), w.m.A.State, effectNames(effects)))
	if err != nil {
		w.log[len(w.log)-1] += " (illegal)"
		if len(effects) > 0 || !reflect.DeepEqual(before, w.m.A) || epochs != w.m.epochs {
			w.fail("an illegal event changed something")
		}
		return err
	}
	w.check(ev, &before, effects)
	return nil
}

func (w *world) check(ev Event, before *Attempt, effects []Effect) {
	w.tb.Helper()
	a := &w.m.A
	w.order(before, a)
	w.proof(ev, before)
	if ev.Kind == SeatGranted {
		w.seat = true
	}
	recorded := false
	for i, e := range effects {
		if before.State == Ended && w.m.peerOf(ev) < 0 {
			switch e := e.(type) {
			case Record:
				if e.What != WhatResult {
					w.fail("an ended attempt records %s", e.What)
				}
			case TrunkEvent, Line: // a late lease goes back
			default:
				w.fail("an ended attempt gives %T", e)
			}
		}
		switch e := e.(type) {
		case Record:
			recorded = true
			if e.What == WhatRevised && !a.WasConnected() {
				w.revised++
			}
		case CountLive:
			w.counted++
		case Dial:
			w.dial(e, recorded)
		case Confirm:
			if !recorded {
				w.fail("the ACK of %s does not wait for a record", e.Leg)
			}
		case Cancel:
			if l := w.anyLeg(e.Leg); l == nil || l.EndedAt != nil || w.answered(l) {
				w.fail("CANCEL for a leg that is over or answered")
			}
		case HangUp:
			if l := w.anyLeg(e.Leg); l == nil || l.EndedAt != nil || !w.answered(l) {
				w.fail("BYE for a leg that is over or was never answered")
			}
		case AttachBot:
			if w.attached++; w.attached > 1 || !a.Seated || !w.seat || len(w.m.Config.BotURIs) > 0 {
				w.fail("a bot is attached twice or without a seat")
			}
		case DialPeer:
			w.dialPeer(e, recorded)
		case Arm:
			w.arm(e)
		case TrunkEvent:
			w.trunk(ev, e)
		case Line:
			w.line(e)
		case CloseMedia:
			w.closed++
		case NumberFree:
			w.freed++
		case Over:
			w.over++
			if i != len(effects)-1 {
				w.fail("Over is not the last effect")
			}
		}
	}
	if a.Seated && !w.seat {
		w.fail("the attempt holds a seat that it gave back")
	}
	if a.State == Ended {
		w.ended()
	} else if w.over+w.closed+w.freed+w.lineOver > 0 {
		w.fail("given back before the end")
	}
}

// proof records which legs to the callee are proven to be over: by their last event, or because the
// database refused the intent and they were not placed.
func (w *world) proof(ev Event, before *Attempt) {
	for i := range w.m.A.Legs {
		l := &w.m.A.Legs[i]
		if l.EndedAt == nil || i < len(before.Legs) && before.Legs[i].EndedAt != nil {
			continue
		}
		if e := ev.Leg; e != nil {
			w.proven[l.ID] = e.Kind == engine.LegNotSent || e.Kind == engine.LegRefused || e.Kind == engine.LegHungUp ||
				e.Proof != ""
		} else {
			w.proven[l.ID] = ev.Kind == IntentRefused
		}
	}
}

// anyLeg finds a leg, of the callee or a far one.
func (w *world) anyLeg(id engine.LegID) *Leg {
	if i := w.m.peerAt(id); i >= 0 {
		return &w.m.A.Peers[i].Leg
	}
	return w.m.leg(id)
}

func (w *world) dialPeer(e DialPeer, recorded bool) {
	w.tb.Helper()
	a := &w.m.A
	if w.dialled[e.Leg]++; w.dialled[e.Leg] > 1 || !recorded || w.m.leg(e.Leg) != nil {
		w.fail("far leg %s is placed twice, or before it is recorded, or with a number in use", e.Leg)
	}
	if e.Kind == PeerTransfer {
		if a.State != Connected || a.Ending != nil || a.Transfer == nil || a.Transfer.Result != TransferCalling ||
			(e.Trunk != "") != strings.HasPrefix(e.URI, "tel:+") {
			w.fail("a target is called that nobody wants: %+v %+v", e, a.Transfer)
		}
		return
	}
	if !a.Seated || !w.seat || a.AnsweredAt == nil || a.Ending != nil || a.State == Ended {
		w.fail("a bot is called without an answer, without a seat, or after the end was decided")
	}
	if e.SendBy.After(w.m.bridgeDeadline()) {
		w.fail("a bot is called past the time of the 2 s rule")
	}
}

// answered says whether the leg got a 2xx.
func (w *world) answered(l *Leg) bool { return l.SIPCode/100 == 2 }

func (w *world) order(before, after *Attempt) {
	w.tb.Helper()
	from, to := slices.Index(States, before.State), slices.Index(States, after.State)
	if to < from && !(before.State == Ringing && after.State == Dialling) {
		w.fail("from %s back to %s", before.State, after.State)
	}
	if b, a := before.Ending, after.Ending; b != nil && a != b {
		if a == nil || a.Cause != b.Cause || !a.At.Equal(b.At) ||
			(a.Outcome != b.Outcome && a.Outcome != engine.OutcomeCompleted) {
			w.fail("a decided end was changed from %+v to %+v", b, a)
		}
	}
}

func (w *world) dial(e Dial, recorded bool) {
	w.tb.Helper()
	if !recorded {
		w.fail("the INVITE of %s does not wait for a record", e.Leg)
	}
	for i := range w.m.A.Legs {
		l := &w.m.A.Legs[i]
		if (l.ID == e.Leg) != (l.EndedAt == nil) {
			w.fail("leg %s is dialled while %s is open", e.Leg, l.ID)
		}
	}
	if w.m.A.Ending != nil || w.m.A.State == Ended {
		w.fail("an INVITE after the end was decided")
	}
}

func (w *world) arm(e Arm) {
	w.tb.Helper()
	if e.Epoch <= w.armed[e.Timer].Epoch {
		w.fail("timer %s is armed with an old epoch", e.Timer)
	}
	if w.m.A.State == Ended {
		w.fail("an ended attempt arms %s", e.Timer)
	}
	w.armed[e.Timer] = e
}

func (w *world) trunk(ev Event, e TrunkEvent) {
	w.tb.Helper()
	if !e.Over {
		return
	}
	if w.m.leg(e.Leg) == nil && ev.Kind == TrunkGranted {
		w.returned++
		return
	}
	if w.channels[e.Leg]++; w.channels[e.Leg] > 1 {
		w.fail("the channel of %s is given back twice", e.Leg)
	}
}

func (w *world) line(e Line) {
	w.tb.Helper()
	switch e.Phase {
	case PhaseServed:
		if w.served++; e.Tentative {
			w.tentative++
		}
		if !w.seat {
			w.fail("served without a seat")
		}
	case PhaseAbandoned:
		w.abandoned++
		w.seat = false
	case PhaseReleased:
		w.seat = false
	case PhaseOver:
		w.lineOver++
		w.seat = false
	}
}

func (w *world) ended() {
	w.tb.Helper()
	a := &w.m.A
	if w.over != 1 || w.closed != 1 || w.freed != 1 || w.lineOver != 1 {
		w.fail("over %d, media closed %d, number freed %d, line over %d times", w.over, w.closed, w.freed, w.lineOver)
	}
	if w.seat || a.Seated {
		w.fail("the seat was not given back")
	}
	if len(a.Legs) == 0 && w.channels[a.ID.Leg(1)] != 1 {
		w.fail("the channel reserved for the first leg was not given back")
	}
	owed := false
	for i := range a.Legs {
		owed = owed || !w.proven[a.Legs[i].ID]
	}
	if w.m.Owed() != owed {
		w.fail("the number is held on: %v; legs that are not proven to be over: %v", w.m.Owed(), owed)
	}
	for i := range a.Legs {
		if w.channels[a.Legs[i].ID] != 1 {
			w.fail("the channel of %s was given back %d times", a.Legs[i].ID, w.channels[a.Legs[i].ID])
		}
	}
	if t := a.Transfer; t != nil && (t.EndedAt == nil || t.Result == TransferCalling) {
		w.fail("the call is over and its transfer is not: %+v", t)
	}
	for i := range a.Peers {
		if p := &a.Peers[i]; p.State != PeerLeaving && p.State != PeerOver {
			w.fail("the call is over and far leg %s is %s", p.ID, p.State)
		}
	}
	if !slices.Contains(engine.Outcomes, a.Outcome) || a.EndedAt == nil {
		w.fail("ended with outcome %q at %v", a.Outcome, a.EndedAt)
	}
	if (a.Outcome == engine.OutcomeAbandoned) != (w.abandoned == 1) || w.abandoned > 1 {
		w.fail("outcome %s, but the run heard of %d abandons", a.Outcome, w.abandoned)
	}
	if (a.Cause != "") != (a.Outcome == engine.OutcomeAbandoned) {
		w.fail("outcome %s with cause %q", a.Outcome, a.Cause)
	}
	if w.tentative != w.counted+w.revised {
		w.fail("%d were served tentatively, %d of them stand and %d were taken back", w.tentative, w.counted, w.revised)
	}
	w.served -= w.revised
	if a.WasConnected() != (w.served == 1) || w.served > 1 || (w.served > 0 && w.abandoned > 0) {
		w.fail("connected %v, but the run heard of %d served and %d abandoned", a.WasConnected(), w.served, w.abandoned)
	}
	if a.Consumed != (a.Number != 0) {
		w.fail("consumed %v with number %d in the trail", a.Consumed, a.Number)
	}
}

// --- events -----------------------------------------------------------------

// openLeg is the leg that can still send events, otherwise the last one.
func (w *world) openLeg() engine.LegID {
	if l := w.m.last(); l != nil {
		return l.ID
	}
	return w.m.A.ID.Leg(1)
}

func (w *world) leg(kind engine.LegEventKind, code int, with ...func(*engine.LegEvent)) Event {
	id := w.openLeg()
	w.legSeq[id]++
	e := engine.LegEvent{Attempt: w.m.A.ID, Leg: id, Seq: w.legSeq[id], At: w.now, Kind: kind, Code: code}
	if kind == engine.LegSession {
		e.Dialog = &engine.DialogState{ToTag: "x", CSeq: 1, SessionSec: 900}
	}
	if kind == engine.LegAnswered {
		e.Dialog = &engine.DialogState{ToTag: "x", CSeq: 1, SessionSec: 600}
		e.SDP = []byte("v=0")
	}
	if kind == engine.LegClosed && e.Seq%2 == 0 { // every second one
		e.Proof = engine.ProofBye
	}
	for _, f := range with {
		f(&e)
	}
	ev, ok := FromLeg(e)
	if !ok {
		w.tb.Fatalf("no event for leg event %s", kind)
	}
	return ev
}

func (w *world) media(kind engine.MediaEventKind, with ...func(*engine.MediaEvent)) Event {
	w.mediaSeq++
	e := engine.MediaEvent{Attempt: w.m.A.ID, Seq: w.mediaSeq, At: w.now, Kind: kind}
	for _, f := range with {
		f(&e)
	}
	ev, ok := FromMedia(e)
	if !ok {
		w.tb.Fatalf("no event for media event %s", kind)
	}
	return ev
}

func verdict(v engine.Verdict) func(*engine.MediaEvent) {
	return func(e *engine.MediaEvent) { e.Verdict = v }
}

// timer is the event of a timer that fires now, as if it were the armed one.
func (w *world) timer(t Timer) Event {
	return t.Fired(w.now, w.m.epochs[t.slot()])
}

func result(disposition string) *Result { return &Result{Disposition: disposition} }

// must applies events that have to be legal.
func (w *world) must(evs ...Event) *world {
	w.tb.Helper()
	for _, ev := range evs {
		if err := w.apply(ev); err != nil {
			w.fail("%v", err)
		}
	}
	return w
}

func (w *world) wait(d time.Duration) *world { w.now = w.now.Add(d); return w }

// ring dials and makes the phone ring.
func (w *world) ring() *world {
	w.tb.Helper()
	w.must(Event{Kind: Began}, w.leg(engine.LegSent, 0), w.leg(engine.LegProvisional, 100),
		w.leg(engine.LegProvisional, 180))
	return w
}

func (w *world) answer() *world {
	w.tb.Helper()
	w.ring()
	return w.must(w.leg(engine.LegAnswered, 200))
}

// converse takes the call to its conversation, 2 s after the answer.
func (w *world) converse() *world {
	w.tb.Helper()
	w.answer()
	switch w.m.Config.AMD {
	case engine.AMDSequential:
		w.wait(2*time.Second).must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman)), Event{Kind: SeatGranted},
			w.media(engine.MediaBotConnected))
	case engine.AMDParallel:
		w.must(Event{Kind: SeatGranted}, w.media(engine.MediaBotConnected)).wait(2 * time.Second).must(
			w.media(engine.MediaVerdict, verdict(engine.VerdictHuman)))
	default:
		w.must(Event{Kind: SeatGranted}, w.media(engine.MediaBotConnected)).wait(2 * time.Second)
	}
	if w.m.A.State != Connected {
		w.fail("no conversation but %s", w.m.A.State)
	}
	return w
}

func (w *world) is(s State, o engine.Outcome) {
	w.tb.Helper()
	if w.m.A.State != s || w.m.A.Outcome != o {
		w.fail("state %s, outcome %q; want %s, %q", w.m.A.State, w.m.A.Outcome, s, o)
	}
}

// effect returns the first effect of the type in the last step.
func effect[E Effect](w *world) (e E, ok bool) {
	for _, x := range w.last {
		if e, ok = x.(E); ok {
			return e, true
		}
	}
	return e, false
}

func describe(ev Event) string {
	s := string(ev.Kind)
	if l := ev.Leg; l != nil {
		_, n, _ := l.Leg.Attempt()
		s += fmt.Sprintf(" %d#%d", n, l.Seq)
		if l.Code != 0 {
			s += fmt.Sprintf(" %d", l.Code)
		}
		s += string(l.NotSent)
	}
	if e := ev.Media; e != nil && e.Verdict != "" {
		s += " " + string(e.Verdict)
	}
	if ev.Trunk != "" {
		s += " " + string(ev.Trunk)
	}
	return s
}

func effectNames(effects []Effect) string {
	names := make([]string, len(effects))
	for i, e := range effects {
		names[i] = effectName(e)
	}
	return strings.Join(names, " ")
}

func effectName(e Effect) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", e), "attempt.")
	switch e := e.(type) {
	case Record:
		return name + "(" + string(e.What) + ")"
	case Arm:
		return name + "(" + string(e.Timer) + ")"
	case Line:
		if e.Cause != "" {
			return name + "(" + string(e.Phase) + " " + string(e.Cause) + ")"
		}
		return name + "(" + string(e.Phase) + ")"
	case TrunkEvent:
		if e.Over {
			return name + "(over)"
		}
	}
	return name
}
