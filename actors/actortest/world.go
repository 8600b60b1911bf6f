package actortest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"dialler/engine"
)

// Script says what one call does. Each duration counts from the previous step.
type Script struct {
	Ring   time.Duration // INVITE → answer or refusal
	Code   int           // 200, or the refusal
	Reason string
	// Q850 and RetryAfter are headers of a refusal.
	Q850       int
	RetryAfter time.Duration
	Silent     bool          // no answer at all: Timer B
	Talk       time.Duration // answer → the callee hangs up; 0: waits for BYE
	// Verdict of the classification, and its time from the answer.
	Verdict   engine.Verdict
	VerdictIn time.Duration
	BotIn     time.Duration // attach → connected; <0: never
	BotTalk   time.Duration // connected → the bot hangs up; 0: never
	// BotSays is the verdict that the bot reports, and its time from the bot's connection; "" means
	// none.
	BotSays   engine.Verdict
	BotSaysIn time.Duration
	// BeepIn, from the answer, is when a beep revises the verdict to machine; 0 means never.
	// NoVoicemail is why no message could be left; "" means it was left.
	BeepIn      time.Duration
	NoVoicemail string
	// Press is the key pressed a second into the information message; 0 means none.
	Press byte
	// For a bot called by SIP: how many of its addresses refuse before one answers, and whether its
	// SDP is unusable.
	BotRefuses int
	BotUnfit   bool
}

// World is a carrier and a media path that follow a script for every number.
type World struct {
	mu     sync.Mutex
	Script func(to engine.PhoneNumber, nth int) Script
	// Trunks are trunks over which every call follows one script, whoever is called.
	Trunks map[engine.TrunkID]Script
	legs   map[engine.LegID]*worldLeg
	calls  map[engine.AttemptID]*worldCall
	nth    map[engine.PhoneNumber]int

	// Ledger.
	Invites  int
	Overlaps int
	live     map[engine.PhoneNumber]engine.LegID
	Offers   []string // of the INVITEs, in order
	// Reattached counts bots attached to a call that already had one.
	Reattached int
	Keys       []string // sent to callees: "12" on the media path, "INFO 1" by signalling
	// KeysByINFO means no media path can send keys.
	KeysByINFO bool
	Byes       int
	Acks       map[engine.LegID]int // ConfirmLeg
	Refused    map[engine.LegID]int // RefuseLeg, with the code
	Cancels    int
	PeakBots   int
	bots       int
	Recovered  int
	// RecoveredAnswered counts the recovered legs that were known to be answered.
	RecoveredAnswered int
	// RecoveredBy lists what was to go into the Via of their CANCELs.
	RecoveredBy []string
	// Boot, if set, makes the carrier side check send-by times.
	Boot func() engine.BootTime
	// Now, if set, is the wall clock in place of time.Now.
	Now func() time.Time
	// BotDown are the bot endpoints that take no calls, and why; Asked counts the probes of
	// endpoints.
	BotDown  map[string]string
	BotSlow  time.Duration // delay of a probe's answer
	Asked    int
	Opened   int                      // sockets opened ahead of their calls
	sockets  map[engine.SocketID]bool // those not taken by a call
	attached [][]string               // the endpoints of each session, in the order to try
	// Unproven makes the far side answer CANCELs with 481 and leave BYEs unanswered: the calls of
	// recovered legs may go on.
	Unproven bool
	// Lives says that the calls in progress belong to the caller's process.
	Lives bool
	// MuteBYE makes the far side ignore our BYEs.
	MuteBYE bool
	// RecoverTakes is how long a recovered leg is watched before it is over.
	RecoverTakes time.Duration
	// BotInvites are the INVITEs to bots.
	BotInvites []engine.PlaceLeg
	// Refers are the answers to REFERs, Notified what was told of transfers;
	// Target is what the calls to targets do: Ring, Code.
	Refers   []bool
	Notified []int
	Target   Script
	Targets  []engine.PlaceLeg
	// Left are the messages to be left on machines.
	Left []engine.LeaveVoicemail
}

type worldLeg struct {
	cmd    engine.PlaceLeg
	sink   func(engine.LegEvent)
	events []engine.LegEvent
	script Script
	state  string // ringing, answered, over
	far    bool   // to a bot
	// unproven means its end will not be proven.
	unproven bool
	timer    *time.Timer
}

type worldCall struct {
	sink   func(engine.MediaEvent)
	events []engine.MediaEvent
	script Script
	bot    bool
	with   engine.SessionID // its conversation
	peers  []engine.LegID
	joined engine.LegID
	timers []*time.Timer
}

// NewWorld returns a world without calls.
func NewWorld(script func(engine.PhoneNumber, int) Script) *World {
	return &World{Script: script, legs: map[engine.LegID]*worldLeg{}, calls: map[engine.AttemptID]*worldCall{},
		nth: map[engine.PhoneNumber]int{}, Acks: map[engine.LegID]int{}, Refused: map[engine.LegID]int{},
		live: map[engine.PhoneNumber]engine.LegID{}}
}

func (w *World) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *World) leg(l *worldLeg, k engine.LegEventKind, code int) {
	e := engine.LegEvent{
		Attempt: l.cmd.Attempt,
		Leg:     l.cmd.Leg,
		Trunk:   l.cmd.Trunk,
		Seq:     len(l.events) + 1,
		At:      w.now(),
		Kind:    k,
		Code:    code,
		Reason:  l.script.Reason,
	}
	if k == engine.LegRefused {
		e.Q850, e.RetryAfter = l.script.Q850, l.script.RetryAfter
	}
	if k == engine.LegClosed {
		e.Proof = engine.ProofBye
		if l.unproven {
			e.Proof = engine.Unproven
		}
	}
	if k == engine.LegAnswered {
		e.Dialog = &engine.DialogState{ToTag: "t"}
		e.SDP = []byte("v=0")
	}
	l.events = append(l.events, e)
	if k.Final() {
		l.state = "over"
		if !l.far {
			delete(w.live, l.cmd.To)
		}
	}
	if l.sink != nil {
		l.sink(e)
	}
}

// PlaceLeg implements actors.Telephony.
func (w *World) PlaceLeg(cmd engine.PlaceLeg, sink func(engine.LegEvent)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.legs[cmd.Leg] != nil {
		w.Overlaps++
		return
	}
	if w.Boot != nil && w.Boot() > cmd.SendBy {
		sink(
			engine.LegEvent{
				Attempt: cmd.Attempt,
				Leg:     cmd.Leg,
				Trunk:   cmd.Trunk,
				Seq:     1,
				At:      w.now(),
				Kind:    engine.LegNotSent,
				NotSent: engine.NotSentExpired,
			},
		)
		return
	}
	if cmd.Incoming { // the caller is there
		l := &worldLeg{cmd: cmd, sink: sink, state: "answered"}
		w.legs[cmd.Leg] = l
		w.leg(l, engine.LegAnswered, 200)
		return
	}
	if cmd.URI != "" || w.talks(cmd.Attempt) {
		w.placePeer(cmd, sink)
		return
	}
	w.nth[cmd.To]++
	l := &worldLeg{cmd: cmd, sink: sink, script: w.Script(cmd.To, w.nth[cmd.To]), state: "ringing"}
	if s, ok := w.Trunks[cmd.Trunk]; ok {
		l.script = s
	}
	w.legs[cmd.Leg] = l
	w.Invites++
	w.Offers = append(w.Offers, string(cmd.Offer))
	if w.live[cmd.To] != "" {
		w.Overlaps++
	}
	w.live[cmd.To] = cmd.Leg
	if c := w.calls[cmd.Attempt]; c != nil {
		c.script = l.script
	}
	w.leg(l, engine.LegSent, 0)
	if l.script.Silent {
		return
	}
	w.leg(l, engine.LegProvisional, 100)
	l.timer = time.AfterFunc(l.script.Ring/2, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.state != "ringing" {
			return
		}
		w.leg(l, engine.LegProvisional, 180)
		l.timer = time.AfterFunc(l.script.Ring/2, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if l.state != "ringing" {
				return
			}
			w.answer(l)
		})
	})
}

// ConfirmLeg implements actors.Telephony.
func (w *World) ConfirmLeg(id engine.LegID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Acks[id]++
}

// RefuseLeg implements actors.Telephony.
func (w *World) RefuseLeg(id engine.LegID, code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.legs[id]; l == nil || l.state == "ringing" {
		w.Refused[id] = code
	}
}

// RingLeg implements actors.Telephony.
func (w *World) RingLeg(engine.LegID) {}

// Acked counts the legs confirmed so far.
func (w *World) Acked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.Acks)
}

// CancelLeg implements actors.Telephony.
func (w *World) CancelLeg(id engine.LegID) engine.CancelOutcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.legs[id]
	if l == nil || l.state == "over" {
		return engine.CancelUnknown
	}
	w.Cancels++
	if l.state == "answered" {
		time.AfterFunc(time.Millisecond, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if l.state != "over" {
				w.leg(l, engine.LegClosed, 0)
			}
		})
		return engine.CancelAnswered
	}
	time.AfterFunc(time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.state == "ringing" {
			w.leg(l, engine.LegRefused, 487)
		}
	})
	return engine.CancelOwed
}

// HangUpLeg implements actors.Telephony.
func (w *World) HangUpLeg(id engine.LegID, _ engine.HangUpCause) {
	time.AfterFunc(time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l := w.legs[id]; l != nil && l.state == "answered" {
			w.Byes++
			l.unproven = w.MuteBYE
			w.leg(l, engine.LegClosed, 0)
		}
	})
}

// AttachLeg implements actors.Telephony.
func (w *World) AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) (ids []engine.LegID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, l := range w.legs {
		if l.cmd.Attempt == a {
			l.sink = sink
			for _, e := range l.events {
				sink(e)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// ForgetLegs implements actors.Telephony.
func (w *World) ForgetLegs(a engine.AttemptID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, l := range w.legs {
		if l.cmd.Attempt == a && l.state == "over" {
			delete(w.legs, id)
		}
	}
}

// RecoverLeg implements actors.Telephony.
func (w *World) RecoverLeg(cmd engine.RecoveredLeg, sink func(engine.LegEvent)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Recovered++
	w.RecoveredBy = append(w.RecoveredBy, cmd.SentBy)
	if cmd.Dialog != nil {
		w.RecoveredAnswered++
	}
	l := w.legs[cmd.Leg]
	if l == nil {
		l = &worldLeg{cmd: engine.PlaceLeg{Attempt: cmd.Attempt, Leg: cmd.Leg, To: cmd.To}}
		w.legs[cmd.Leg] = l
	}
	l.events, l.sink, l.unproven = nil, sink, w.Unproven
	if w.RecoverTakes == 0 {
		w.leg(l, engine.LegClosed, 0)
		return
	}
	time.AfterFunc(w.RecoverTakes, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.leg(l, engine.LegClosed, 0)
	})
}

// Open implements actors.Media.
func (w *World) Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[cmd.Attempt]
	if c == nil {
		c = &worldCall{}
		w.calls[cmd.Attempt] = c
	}
	c.sink = sink
	for _, e := range c.events {
		sink(e)
	}
	// The offer names its parameters, so that a test can tell offers apart.
	return []byte("v=0 " + strings.Join(cmd.Profile.Codecs, ",") + " " + cmd.Profile.SRTP), nil
}

func (w *World) media(a engine.AttemptID, c *worldCall, e engine.MediaEvent) {
	e.Attempt, e.Seq, e.At = a, len(c.events)+1, w.now()
	c.events = append(c.events, e)
	if c.sink != nil {
		c.sink(e)
	}
}

func (w *World) later(a engine.AttemptID, c *worldCall, wait time.Duration, f func()) {
	c.timers = append(c.timers, time.AfterFunc(wait, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.calls[a] == c {
			f()
		}
	}))
}

// Answer implements actors.Media.
func (w *World) Answer(a engine.AttemptID, _ []byte, _ time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[a]
	if c == nil || c.script.Verdict == "" {
		return
	}
	w.later(a, c, c.script.VerdictIn, func() {
		w.media(
			a,
			c,
			engine.MediaEvent{Kind: engine.MediaVerdict, Verdict: c.script.Verdict, AMDTook: c.script.VerdictIn},
		)
		if beep := c.script.BeepIn; beep > 0 {
			w.later(a, c, beep-c.script.VerdictIn, func() {
				w.media(
					a,
					c,
					engine.MediaEvent{Kind: engine.MediaVerdict, Verdict: engine.VerdictMachine, AMDTook: beep},
				)
			})
		}
	})
}

// AttachBot implements actors.Media.
func (w *World) AttachBot(cmd engine.AttachBot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := cmd.Attempt
	c := w.calls[a]
	if c == nil || c.bot || c.script.BotIn < 0 {
		if c != nil && c.bot && c.with != cmd.Session {
			w.Reattached++
		}
		return
	}
	c.with = cmd.Session
	delete(w.sockets, cmd.Socket)
	w.attached = append(w.attached, cmd.Endpoints)
	var missed []engine.EndpointMiss
	for len(missed) < len(cmd.Endpoints) && w.BotDown[cmd.Endpoints[len(missed)]] != "" {
		url := cmd.Endpoints[len(missed)]
		missed = append(missed, engine.EndpointMiss{Endpoint: url, Reason: w.BotDown[url]})
	}
	if len(missed) == len(cmd.Endpoints) {
		w.later(a, c, c.script.BotIn, func() {
			w.media(
				a,
				c,
				engine.MediaEvent{
					Kind:    engine.MediaBotFailed,
					Session: cmd.Session,
					Error:   missed[0].Reason,
					Missed:  missed,
				},
			)
		})
		return
	}
	c.bot = true
	w.bots++
	w.PeakBots = max(w.PeakBots, w.bots)
	w.later(a, c, c.script.BotIn, func() {
		w.media(
			a,
			c,
			engine.MediaEvent{
				Kind:     engine.MediaBotConnected,
				Session:  cmd.Session,
				Endpoint: cmd.Endpoints[len(missed)],
				Missed:   missed,
			},
		)
		if v := c.script.BotSays; v != "" {
			w.later(a, c, c.script.BotSaysIn, func() {
				if c.bot {
					w.media(a, c, engine.MediaEvent{Kind: engine.MediaBotVerdict, Verdict: v})
				}
			})
		}
		if c.script.BotTalk > 0 {
			w.later(a, c, c.script.BotTalk, func() {
				if c.bot {
					w.media(a, c, engine.MediaEvent{Kind: engine.MediaBotClosed})
				}
			})
		}
	})
}

// OpenSocket implements actors.Media: the socket opens unless every endpoint is down.
func (w *World) OpenSocket(cmd engine.OpenSocket, sink func(engine.SocketEvent)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sockets == nil {
		w.sockets = map[engine.SocketID]bool{}
	}
	w.sockets[cmd.Socket] = true
	w.Opened++
	time.AfterFunc(time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.sockets[cmd.Socket] {
			return
		}
		e := engine.SocketEvent{Socket: cmd.Socket}
		for _, url := range cmd.Endpoints {
			if why := w.BotDown[url]; why != "" {
				e.Missed, e.Reason = append(e.Missed, engine.EndpointMiss{Endpoint: url, Reason: why}), why
				continue
			}
			e.Stands, e.Endpoint, e.Reason = true, url, ""
			break
		}
		if !e.Stands {
			delete(w.sockets, cmd.Socket)
		}
		sink(e)
	})
}

// CloseSocket implements actors.Media.
func (w *World) CloseSocket(id engine.SocketID, _ engine.Incarnation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sockets, id)
}

// CloseSockets implements actors.Media.
func (w *World) CloseSockets(of engine.CampaignID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(
		w.sockets,
		func(id engine.SocketID, _ bool) bool { return strings.HasPrefix(string(id), string(of)+"/") },
	)
}

// AskBot implements actors.Media.
func (w *World) AskBot(ctx context.Context, cmd engine.AskBot) error { return w.Ask(ctx, cmd.Endpoint) }

// Calling implements actors.Telephony. The world outlives processes: it reports a call only if a
// test says that its process lives on (Lives).
func (w *World) Calling(to engine.PhoneNumber) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.legs {
		if w.Lives && l.state != "over" && l.cmd.To == to {
			return true
		}
	}
	return false
}

// Ask implements actors.Telephony.
func (w *World) Ask(ctx context.Context, endpoint string) error {
	w.mu.Lock()
	slow := w.BotSlow
	w.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Asked++
	if why := w.BotDown[endpoint]; why != "" {
		return errors.New(why)
	}
	return nil
}

// BreakBot makes an endpoint refuse calls, MendBot makes it accept them again.
func (w *World) BreakBot(endpoint, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.BotDown == nil {
		w.BotDown = map[string]string{}
	}
	w.BotDown[endpoint] = why
}

// Questions counts the probes of endpoints so far.
func (w *World) Questions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Asked
}

// Attached returns the endpoints of every session so far, in the order to try.
func (w *World) Attached() [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.attached)
}

// MendBot makes an endpoint accept calls again.
func (w *World) MendBot(endpoint string) { w.BreakBot(endpoint, "") }

func (w *World) drop(c *worldCall) {
	if c.bot {
		c.bot = false
		w.bots--
	}
}

// DetachBot implements actors.Media.
func (w *World) DetachBot(a engine.AttemptID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.calls[a]; c != nil {
		w.drop(c)
	}
}

// PlayMessage implements actors.Media.
func (w *World) PlayMessage(a engine.AttemptID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.calls[a]; c != nil {
		if c.script.Press != 0 {
			w.later(
				a,
				c,
				time.Second,
				func() { w.media(a, c, engine.MediaEvent{Kind: engine.MediaDigit, Digit: c.script.Press}) },
			)
		}
		w.later(a, c, 3*time.Second, func() { w.media(a, c, engine.MediaEvent{Kind: engine.MediaPlayed}) })
	}
}

// LeaveVoicemail implements actors.Media: the beep comes after two seconds, and
// the message takes three.
func (w *World) LeaveVoicemail(cmd engine.LeaveVoicemail) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Left = append(w.Left, cmd)
	if c := w.calls[cmd.Attempt]; c != nil {
		w.later(cmd.Attempt, c, 5*time.Second, func() {
			w.media(cmd.Attempt, c, engine.MediaEvent{Kind: engine.MediaPlayed, Error: c.script.NoVoicemail})
		})
	}
}

// SendDigits implements actors.Media.
func (w *World) SendDigits(a engine.AttemptID, digits string) (bySIP bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.KeysByINFO {
		return true, nil
	}
	w.Keys = append(w.Keys, digits)
	return false, nil
}

// SendDigit implements actors.Telephony.
func (w *World) SendDigit(leg engine.LegID, key byte, _ time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.legs[leg]
	if l == nil || l.state != "answered" {
		return false
	}
	w.Keys = append(w.Keys, "INFO "+string(key))
	return true
}

// HearEarly implements actors.Media; the networks of this world announce nothing.
func (w *World) HearEarly(engine.AttemptID, []byte) {}

// HearDigit implements actors.Media; the bots of this world do not listen.
func (w *World) HearDigit(engine.AttemptID, byte) engine.LegID { return "" }

// CloseMedia implements actors.Media.
func (w *World) CloseMedia(a engine.AttemptID) engine.MediaQuality {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.calls[a]; c != nil {
		w.drop(c)
		for _, t := range c.timers {
			t.Stop()
		}
		delete(w.calls, a)
	}
	return engine.MediaQuality{}
}

// AttachMedia implements actors.Media.
func (w *World) AttachMedia(a engine.AttemptID, sink func(engine.MediaEvent)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[a]
	if c == nil {
		return false
	}
	c.sink = sink
	for _, e := range c.events {
		sink(e)
	}
	return true
}

// LiveCalls counts the ringing and answered legs.
func (w *World) LiveCalls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, l := range w.legs {
		if l.state != "over" {
			n++
		}
	}
	return n
}

// Invited counts the INVITEs so far.
func (w *World) Invited() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Invites
}

// InvitedTo counts the INVITEs to a number so far.
func (w *World) InvitedTo(n engine.PhoneNumber) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nth[n]
}

// HungUp counts the BYEs so far.
func (w *World) HungUp() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Byes
}

// View runs f under the world's lock.
func (w *World) View(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// Mix is a random script from a seed: repeatable by number and attempt.
func Mix(seed uint64, answer, machine float64, talk time.Duration) func(engine.PhoneNumber, int) Script {
	return func(to engine.PhoneNumber, nth int) Script {
		h := seed
		for _, b := range []byte(to.E164()) {
			h = (h ^ uint64(b)) * 1099511628211
		}
		r := rand.New(rand.NewPCG(h, uint64(nth))) //nolint:gosec // a repeatable world, not a secret
		s := Script{Ring: time.Duration(1+r.IntN(8)) * time.Second, Code: 200, BotIn: 20 * time.Millisecond,
			Verdict: engine.VerdictHuman, VerdictIn: 1200 * time.Millisecond}
		switch u := r.Float64(); {
		case u > answer+0.2:
			s.Ring = time.Hour // rings until the time-out
		case u > answer:
			s.Code = []int{486, 480, 404, 503, 603}[r.IntN(5)]
		case r.Float64() < machine:
			s.Verdict = engine.VerdictMachine
		}
		s.BotTalk = time.Duration(float64(talk) * (0.2 + 1.6*r.Float64()))
		if r.Float64() < 0.5 {
			s.Talk = s.BotTalk
			s.BotTalk = 0
		}
		return s
	}
}
