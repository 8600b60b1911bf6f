package call

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
	"dialler/engine/redial"
	"dialler/engine/window"
)

const (
	callee  engine.PhoneNumber = "+4915112345678"
	caller  engine.PhoneNumber = "+4930123456"
	first   engine.AttemptID   = "0000000000000000000000000000000a"
	second  engine.AttemptID   = "0000000000000000000000000000000b"
	third   engine.AttemptID   = "0000000000000000000000000000000c"
	someone engine.Request     = "someone"
)

var start = time.Date(2030, 3, 4, 12, 0, 0, 0, time.UTC)

// processOf is a Process with answers set by the test.
type processOf struct {
	leaseEnds        engine.BootTime
	barred           map[engine.PhoneNumber]error
	calling          bool
	cap              *journal.CalleeCap
	away, unheard    bool
	shared, eligible bool
	tellsRinging     bool
	endpoints        []string
}

func (p *processOf) LeaseEnds() engine.BootTime                                 { return p.leaseEnds }
func (p *processOf) Destination(to, _ engine.PhoneNumber) error                 { return p.barred[to] }
func (p *processOf) Calling(engine.PhoneNumber) bool                            { return p.calling }
func (p *processOf) CalleeCap(engine.PhoneNumber, time.Time) *journal.CalleeCap { return p.cap }
func (p *processOf) ResultToken(id engine.CallID) string                        { return "token of " + string(id) }
func (p *processOf) Carrier(engine.TrunkID) engine.Incarnation                  { return 7 }
func (p *processOf) Here() engine.Incarnation                                   { return 8 }
func (p *processOf) Elsewhere(engine.AttemptID) bool                            { return p.away }
func (p *processOf) Unheard(engine.AttemptID) bool                              { return p.unheard }
func (p *processOf) Shared() bool                                               { return p.shared }
func (p *processOf) AsksEligibility(eligibility.Hook) bool                      { return p.eligible }
func (p *processOf) TellsRinging(engine.CampaignID) bool                        { return p.tellsRinging }
func (p *processOf) Home(engine.PhoneNumber) window.Home {
	return window.Home{Zones: []string{"Europe/Berlin"}}
}
func (p *processOf) Endpoints(b *engine.Bot) []string {
	if p.endpoints != nil {
		return p.endpoints
	}
	return b.Endpoints
}

// rig is a shell that records its instructions. Effects with an immediate answer are answered
// before the following ones are carried out.
type rig struct {
	t       *testing.T
	p       *processOf
	contact *Contact
	dialout *Dialout
	call    *Call
	now     time.Time
	boot    engine.BootTime
	seq     map[engine.LegID]int
	media   int

	log     []string // effects since the last comparison
	done    []Effect
	all     []Effect
	noMedia error
	known   int // number of legs that AttachLegs finds
}

func newRig(t *testing.T) *rig {
	return &rig{t: t, p: &processOf{}, now: start, boot: 1000, seq: map[engine.LegID]int{}}
}

var limits = Limits{RingGrace: 35 * time.Second, ResultLinger: 3 * time.Second, SendByTimeout: 10 * time.Second,
	DialoutRing: 30 * time.Second,
	OptOutDigit: '9', ResultBase: "https://dialler"}

func rulesOf(edit func(*Rules)) *Rules {
	rl := &Rules{Campaign: "cmp", Epoch: 3, Run: 1, Bot: engine.Bot{ID: "bot", Active: true, Seats: 5,
		Endpoints: []string{"ws://bot"}, AuthToken: "secret", Account: "AC1"},
		Attempt: attempt.Config{RingTimeout: 30 * time.Second, CallLimit: 15 * time.Minute, AMD: engine.AMDOff},
		Policy: contact.Policy{MaxAttempts: 3, Redial: redial.Rule{Delay: 30 * time.Minute},
			ResultTimeout: 10 * time.Minute, Callbacks: true}}
	if edit != nil {
		edit(rl)
	}
	return rl
}

func rowOf(edit func(*contact.Contact)) contact.Contact {
	due := start
	c := contact.Contact{ID: "contact", Campaign: "cmp", Number: callee, Run: 1, State: contact.Pending, Max: 3,
		DueAt: &due, DueClass: contact.DueFirst, DuePass: 1,
		Variables: map[string]string{"name": "Ann"}, Version: 1, CreatedAt: start, UpdatedAt: start}
	if edit != nil {
		edit(&c)
	}
	return c
}

// up starts a contact and forgets the effects of that.
func up(t *testing.T, row func(*contact.Contact), rules func(*Rules)) *rig {
	t.Helper()
	r := newRig(t)
	r.contact = NewContact(rowOf(row), rulesOf(rules), limits, nil)
	r.call = &r.contact.Call
	r.apply(&Started{})
	r.clear()
	return r
}

func dialOf(id engine.AttemptID) *Dial {
	return &Dial{Attempt: id, Trunk: "trunk", To: callee, From: caller, SendWithin: 10 * time.Second,
		Media: &engine.MediaProfile{}}
}

func (r *rig) apply(event any) {
	r.one(event)
	if r.contact == nil {
		return
	}
	for e, ok := r.contact.Next(); ok; e, ok = r.contact.Next() {
		r.one(e)
	}
}

func (r *rig) one(event any) {
	r.t.Helper()
	r.writtenDown()
	in := Input{Now: r.now, Boot: r.boot, Event: event, Process: r.p}
	var effects []Effect
	if r.contact != nil {
		effects = r.contact.Apply(in, nil)
	} else {
		effects = r.dialout.Apply(in, nil)
	}
	for _, e := range effects {
		r.log, r.done, r.all = append(r.log, r.name(e)), append(r.done, e), append(r.all, e)
		switch e := e.(type) {
		case *OpenMedia:
			r.one(&MediaOpened{Leg: e.Leg, Offer: []byte("offer"), Err: r.noMedia})
		case *OpenPeer:
			r.one(&MediaOpened{Leg: e.Leg, Offer: []byte("peer offer"), Err: r.noMedia})
		case attempt.CloseMedia:
			r.one(&MediaClosed{Quality: engine.MediaQuality{PacketsSent: 42}})
		case *AttachLegs:
			r.one(&LegsAttached{Known: r.known})
		}
	}
}

func (r *rig) clear() { r.log, r.done = nil, nil }

// want compares the effects since the last comparison.
func (r *rig) want(what ...string) {
	r.t.Helper()
	got := r.log
	r.clear()
	if !slices.Equal(got, what) {
		r.t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(what, "\n\t"))
	}
}

// on applies an event and compares the resulting effects.
func (r *rig) on(event any, what ...string) {
	r.t.Helper()
	r.apply(event)
	r.want(what...)
}

// has says whether an effect happened since the last comparison.
func (r *rig) has(what string) bool {
	return slices.ContainsFunc(r.log, func(l string) bool { return strings.HasPrefix(l, what) })
}

func (r *rig) durable(step int) { r.t.Helper(); r.apply(&Durable{Step: step}) }

// last is the newest effect of a type.
func last[E any](r *rig) (e E) {
	r.t.Helper()
	for i := len(r.all) - 1; i >= 0; i-- {
		if e, ok := r.all[i].(E); ok {
			return e
		}
	}
	r.t.Fatalf("no %T was done", e)
	return e
}

// write is the newest write.
func (r *rig) write() *journal.Write { r.t.Helper(); return last[*Persist](r).Write }

func (r *rig) leg(n int, kind engine.LegEventKind, edit ...func(*engine.LegEvent)) *engine.LegEvent {
	id := r.call.Machine.A.ID.Leg(n)
	r.seq[id]++
	e := &engine.LegEvent{Attempt: r.call.Machine.A.ID, Leg: id, Seq: r.seq[id], At: r.now, Kind: kind}
	for _, f := range edit {
		f(e)
	}
	return e
}

func code(n int) func(*engine.LegEvent) { return func(e *engine.LegEvent) { e.Code = n } }

func answered(e *engine.LegEvent) {
	e.Code, e.SDP, e.Dialog = 200, []byte("answer"), &engine.DialogState{ToTag: "x"}
}

func proven(p engine.Proof) func(*engine.LegEvent) { return func(e *engine.LegEvent) { e.Proof = p } }

func (r *rig) mediaEvent(kind engine.MediaEventKind, edit ...func(*engine.MediaEvent)) *engine.MediaEvent {
	r.media++
	e := &engine.MediaEvent{Attempt: r.call.Machine.A.ID, Seq: r.media, At: r.now, Kind: kind}
	for _, f := range edit {
		f(e)
	}
	return e
}

// dialled begins an attempt whose INVITE has left.
func (r *rig) dialled(id engine.AttemptID) {
	r.t.Helper()
	r.apply(dialOf(id))
	r.durable(r.call.Step)
	r.apply(r.leg(1, engine.LegSent))
	r.clear()
}

// talking connects the callee with the bot.
func (r *rig) talking(id engine.AttemptID) {
	r.t.Helper()
	r.dialled(id)
	r.conversation()
}

func (r *rig) conversation() {
	r.t.Helper()
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(r.call.Step)
	r.apply(&SeatGranted{Attempt: r.call.Machine.A.ID})
	r.apply(r.mediaEvent(engine.MediaBotConnected, func(e *engine.MediaEvent) { e.Endpoint = "ws://bot" }))
	r.durable(r.call.Step)
	if !r.call.Live() || r.call.Machine.A.State != attempt.Connected {
		r.t.Fatalf("no conversation: %s", r.call.Machine.A.State)
	}
	r.clear()
}

// name describes an effect in a line.
func (r *rig) name(e Effect) string {
	short := func(a engine.AttemptID) string {
		if a == "" {
			return "-"
		}
		return string(a[len(a)-1:])
	}
	leg := func(l engine.LegID) string {
		if len(l) < 32 {
			return string(l)
		}
		return string(l[31:])
	}
	flags := func(m map[string]bool) (s string) {
		for _, k := range slices.Sorted(mapKeys(m)) {
			if m[k] {
				s += " " + k
			}
		}
		return s
	}
	errOf := func(err error) string {
		if err == nil {
			return ""
		}
		if c := engine.ErrorCode(err); c != "internal" {
			return " " + c
		}
		return " " + err.Error()
	}
	switch e := e.(type) {
	case *Up:
		return "up"
	case *Idle:
		return "idle"
	case *NotIdle:
		return "not idle"
	case *Watches:
		return "watches"
	case *Stopped:
		return "stopped " + string(e.Row.State)
	case *LineMoved:
		return fmt.Sprintf("line of %s %s%s", short(e.Attempt), e.Phase, flags(map[string]bool{"machine": e.Machine,
			"tentative": e.Tentative, string(e.Cause): e.Cause != ""}))
	case *AnswerStands:
		return "answer stands"
	case *InviteLeft:
		return "invite left"
	case *Persist:
		w := e.Write
		s := fmt.Sprintf("write %d", e.Step)
		for i := range w.Events {
			s += " " + string(w.Events[i].Type)
		}
		m := map[string]bool{"+intent": w.Intent != nil, "+contact": len(w.Contacts) > 0, "+reply": w.Reply != nil}
		for _, h := range w.Holds {
			switch {
			case h.Owed:
				m["+owed"] = true
			case !h.Until.IsZero():
				m["+held for "+h.Until.Sub(r.now).String()] = true
			default:
				m["+free"] = true
			}
		}
		for _, x := range w.Suppressions {
			m["+"+x.Reason] = true
		}
		return s + flags(m)
	case *MayDial:
		return "may dial"
	case *Excluded:
		return fmt.Sprintf("excluded %d%s", e.Op, flags(map[string]bool{"cancelled": e.Cancelled, "in call": e.InCall,
			"new": e.Excluded}))
	case *Lifted:
		return fmt.Sprintf("lifted %d%s", e.Op, flags(map[string]bool{"readmitted": e.Readmitted}))
	case *Stored:
		return "stored " + e.Number.E164()
	case *Reported:
		return fmt.Sprintf("reported %s %s%s", short(e.Attempt), e.Phase, flags(map[string]bool{"seated": e.Seated,
			"tentative": e.Tentative, "stands": e.Stands}))
	case *Owns:
		return "own " + short(e.Attempt)
	case *Answer:
		s := fmt.Sprintf("answer %s", e.Request)
		switch v := e.Value.(type) {
		case campaign.TriggerReply:
			s += " " + v.Status
			if v.Reason != "" {
				s += " " + v.Reason
			}
		case campaign.DialoutReply:
			s += " " + v.Status
		case attempt.Attempt:
			s += " " + string(v.State)
		}
		return s + errOf(e.Err)
	case *WhenSettled:
		return "when settled: " + r.name(e.Message)
	case *OpenMedia:
		return "open media"
	case *OpenPeer:
		return "open peer " + leg(e.Leg)
	case *PlaceLeg:
		return "place leg " + leg(e.Leg.Leg)
	case *AttachBot:
		return "attach bot"
	case *BotSettled:
		return "bot settled" + flags(map[string]bool{"telling": e.Telling})
	case *BotTried:
		s := "bot tried " + e.Reached
		for _, m := range e.Missed {
			s += "missed " + m.Endpoint + ": " + m.Reason
		}
		return s
	case *SendDigits:
		return "send digits " + e.Digits
	case *AttachLegs:
		return "attach legs of " + short(e.Attempt)
	case *AttachMedia:
		return "attach media of " + short(e.Attempt)
	case *Replaced:
		return fmt.Sprintf("replaced %s, %d legs", short(e.Attempt), len(e.Legs)+len(e.Peers))
	case *RecoverLeg:
		return "recover leg " + leg(e.Leg.Leg)
	case *ForgetLegs:
		return "forget legs of " + short(e.Attempt)
	case *ReserveTrunk:
		return "reserve trunk for " + leg(e.Leg)
	case *TrunkEvent:
		return fmt.Sprintf("trunk %s %s%s", e.Trunk, leg(e.Leg), flags(map[string]bool{"sent": e.Sent, "over": e.Over,
			"classified": e.Class != nil}))
	case *RefuseLeg:
		return fmt.Sprintf("refuse %s %d", leg(e.Leg), e.Code)
	case *ReleaseNumber:
		return fmt.Sprintf("release number of %s%s", short(e.Attempt),
			flags(map[string]bool{"not dialled": e.End.NotDialled, "strike": e.End.Strike, "answered": e.End.Answered}))
	case *Suppress:
		return strings.TrimSpace(fmt.Sprintf("suppress %s %s", e.Number.E164(), e.Request))
	case *Abandoned:
		return "abandoned"
	case *Arm:
		return fmt.Sprintf("arm %s %s", e.Fired.Timer, e.After)
	case *Disarm:
		return "disarm " + string(e.Timer)
	case *ToSelf:
		return fmt.Sprintf("to self %T", e.Event)
	case *AskEligibility:
		return "ask eligibility"
	case *FetchAttempt:
		return "fetch " + short(e.Attempt)
	case *LoadContact:
		return "load " + string(e.Contact)
	case *DialoutReturned:
		return "returned " + engine.ErrorCode(e.Err)
	case *Returned:
		switch back := e.Command.CalledBack; {
		case back.News == contact.BackBegins:
			return fmt.Sprintf("returned, at most %v", back.AtMost)
		case back.News != "" && back.OptedOut:
			return "returned, " + string(back.News) + ", opted out"
		case back.News != "":
			return "returned, " + string(back.News)
		}
		return "returned with result"
	case *DialoutSuppressed:
		return fmt.Sprintf("suppressed %d", e.Op)
	case *DialoutOver:
		return fmt.Sprintf("dialout over %d", e.Results)
	case *Refused:
		return "refused" + errOf(e.Err)
	case Count:
		return "count " + string(e)
	case attempt.Confirm:
		return "confirm " + leg(e.Leg)
	case attempt.Cancel:
		return "cancel " + leg(e.Leg)
	case attempt.HangUp:
		return "hang up " + leg(e.Leg)
	default:
		return strings.ToLower(reflect.TypeOf(e).Name())
	}
}

func mapKeys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

var errAway = errors.New("away")

// idempotency is a request's key; "" for a request without one.
func idempotency(token string) engine.Idempotency {
	if token == "" {
		return engine.Idempotency{}
	}
	return engine.Idempotency{Key: "key", Token: token}
}
