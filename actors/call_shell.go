package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
	"dialler/engine/number"
)

// callShell is what a contact's actor and a dialout's have in common: it hands events
// to the core, and carries out the effects that concern a call.
type callShell struct {
	d     *deps
	self  *actor.PID
	logic interface { // the core
		Apply(call.Input, []call.Effect) []call.Effect
	}
	call *call.Call // of the core
	// own carries out what is not the same for contacts and dialouts; false: it does not
	// know the effect.
	own  func(call.Effect) bool
	now  time.Time
	boot engine.BootTime

	effects   []call.Effect
	opened    call.MediaOpened // events that the core does not keep, made anew each time
	closed    call.MediaClosed
	timers    [10]func() // of call.Timers
	owned     engine.AttemptID
	owner     owner
	legSink   func(engine.LegEvent)
	mediaSink func(engine.MediaEvent)
}

// begin prepares the shell for a life of its actor.
func (s *callShell) begin(self *actor.PID, own func(call.Effect) bool) {
	root := s.d.root
	s.self, s.own, s.effects = self, own, s.effects[:0]
	s.legSink = func(e engine.LegEvent) { root.Send(self, &e) }
	s.mediaSink = func(e engine.MediaEvent) { root.Send(self, &e) }
}

// stamp takes the time of a message once.
func (s *callShell) stamp() { s.now, s.boot = s.d.clock.Now(), s.d.clock.Boot() }

// apply gives the core an event and carries out what it says, in order. An effect may
// have an answer at once: that is applied before the next effect.
func (s *callShell) apply(event any) {
	a := &s.call.Machine.A
	was, id, waited := stagesOf(a), a.ID, a.InviteAt == nil
	from := len(s.effects)
	s.effects = s.logic.Apply(call.Input{Now: s.now, Boot: s.boot, Event: event, Process: s.d}, s.effects)
	end := len(s.effects)
	if a.ID == id {
		s.timed(was)
		if waited && a.InviteAt != nil && a.ReservedAt != nil {
			s.d.cfg.OnInvite(a.InviteAt.Sub(*a.ReservedAt))
		}
	}
	for i := from; i < end; i++ {
		s.do(s.effects[i])
	}
	clear(s.effects[from:end])
	s.effects = s.effects[:from]
}

// timed tells of the stages that an event brought; of a verdict that is revised only
// the first counts.
func (s *callShell) timed(was stages) {
	a := &s.call.Machine.A
	if a.AnsweredAt == nil {
		return
	}
	for i, at := range stagesOf(a) {
		if at != nil && was[i] == nil {
			s.d.cfg.OnStage(Stages[i], at.Sub(*a.AnsweredAt))
		}
	}
}

// do carries out one effect. Which there are is listed in call.Effects; a test holds
// the two together.
func (s *callShell) do(e call.Effect) {
	d, a := s.d, &s.call.Machine.A
	switch e := e.(type) {
	case call.Count:
		s.count(e)
	case *call.Answer:
		reply(d, d.requester(e.Request), e.Value, e.Err)
	case *call.Owns:
		s.disown()
		s.owned = e.Attempt
		d.owners.add(e.Attempt, s.owner)
	case *call.OpenMedia:
		offer, err := d.media.Open(e.Open, s.mediaSink)
		s.mediaOpened(e.Leg, offer, err)
	case *call.OpenPeer:
		offer, err := d.media.OpenPeer(e.Attempt, e.Leg, e.Profile)
		s.mediaOpened(e.Leg, offer, err)
	case *call.PlaceLeg:
		d.phone.PlaceLeg(e.Leg, s.legSink)
	case attempt.Confirm:
		d.phone.ConfirmLeg(e.Leg)
	case attempt.Cancel:
		d.phone.CancelLeg(e.Leg)
	case attempt.HangUp:
		d.phone.HangUpLeg(e.Leg, e.Cause)
	case attempt.AnswerMedia:
		d.stats.Answered.Add(1)
		d.media.Answer(a.ID, e.SDP, *a.AnsweredAt)
	case *call.AttachBot:
		d.late.bot(e.Bot).begin(e.Attach.Attempt, e.Since)
		d.media.AttachBot(e.Attach)
	case *call.BotSettled:
		d.late.bot(e.Bot).end(e.Attempt, e.Since, e.Telling)
	case *call.BotTried:
		d.root.Send(d.fleet, e)
	case attempt.JoinPeer:
		s.joinPeer(e)
	case attempt.AnswerRefer:
		d.phone.AnswerRefer(e.Leg, e.Accept)
	case attempt.NotifyRefer:
		d.phone.NotifyRefer(e.Leg, e.Code, e.Reason)
	case attempt.ClosePeer:
		d.media.ClosePeer(a.ID, e.Leg)
	case attempt.DetachBot:
		d.media.DetachBot(a.ID)
	case attempt.PlayMessage:
		d.stats.Abandoned.Add(1)
		d.cfg.OnStage(StageMessage, a.Ending.At.Sub(s.call.Machine.CountsFrom()))
		d.media.PlayMessage(a.ID)
	case attempt.LeaveVoicemail:
		d.media.LeaveVoicemail(engine.LeaveVoicemail{Attempt: a.ID, Message: e.Message})
	case attempt.HearDigit:
		if leg := d.media.HearDigit(a.ID, e.Digit); leg != "" {
			d.phone.SendDigit(leg, e.Digit, engine.KeyDuration)
		}
	case *call.SendDigits:
		s.sendDigits(e)
	case attempt.CloseMedia:
		q := d.media.CloseMedia(a.ID)
		s.closed = call.MediaClosed{Quality: q}
		s.apply(&s.closed)
		d.cfg.OnQuality(q)
	case *call.AttachLegs:
		s.apply(&call.LegsAttached{Known: len(d.phone.AttachLeg(e.Attempt, s.legSink))})
	case *call.AttachMedia:
		d.media.AttachMedia(e.Attempt, s.mediaSink)
	case *call.RecoverLeg:
		d.phone.RecoverLeg(e.Leg, s.legSink)
	case *call.ForgetLegs:
		d.phone.ForgetLegs(e.Attempt)
	case *call.ReserveTrunk:
		d.root.Send(d.trunks, &reserveTrunk{Leg: e.Leg, Attempt: e.Attempt, Tried: e.Tried, Only: e.Only,
			ReplyTo: s.self})
	case *call.TrunkEvent:
		d.root.Send(d.trunks, e)
	case *call.Arm:
		s.stop(e.Fired.Timer)
		s.timers[timerSlot[e.Fired.Timer]] = d.after(e.After, s.self, &e.Fired)
	case *call.Disarm:
		s.stop(e.Timer)
	case *call.ToSelf:
		d.root.Send(s.self, e.Event)
	case *call.Suppress:
		s.suppress(e)
	case *call.FetchAttempt:
		s.fetchAttempt(e)
	case *call.Refused:
		d.stats.Illegal.Add(1)
		d.log.Warn().Err(e.Err).Str("attempt_id", string(e.Attempt)).Str("contact_id", string(e.Contact)).
			Msg("event refused by a call or its contact")
	case attempt.Over:
		d.stats.ended(a.Outcome)
		for _, t := range call.Timers {
			if t != call.TimerLinger && t != call.TimerLoad {
				s.stop(t)
			}
		}
	default:
		if !s.own(e) {
			d.stats.Illegal.Add(1)
			d.log.Error().Str("effect", fmt.Sprintf("%T", e)).Str("attempt_id", string(a.ID)).
				Msg("an effect that nobody carries out")
		}
	}
}

// timerSlot is where the stop of a timer is kept.
var timerSlot = func() map[attempt.Timer]int {
	slots := map[attempt.Timer]int{}
	for i, t := range call.Timers {
		slots[t] = i
	}
	return slots
}()

func (s *callShell) stop(t attempt.Timer) {
	i := timerSlot[t]
	if stop := s.timers[i]; stop != nil {
		s.timers[i] = nil
		stop()
	}
}

// disown: the attempt that the actor had is nobody's any more.
func (s *callShell) disown() {
	if s.owned != "" {
		s.d.owners.remove(s.owned)
		s.owned = ""
	}
}

func (s *callShell) count(what call.Count) {
	st := &s.d.stats
	switch what {
	case call.CountAttempt:
		st.Attempts.Add(1)
	case call.CountLegPlaced:
		st.LegsPlaced.Add(1)
	case call.CountLegSent:
		st.LegsSent.Add(1)
	case call.CountServed:
		st.Served.Add(1)
	case call.CountResult:
		st.Results.Add(1)
	case call.CountRecovered:
		st.Recovered.Add(1)
	}
}

func (s *callShell) mediaOpened(leg engine.LegID, offer []byte, err error) {
	if err != nil {
		s.d.log.Error().Err(err).Str("attempt_id", string(s.call.Machine.A.ID)).
			Msg("no media path; the leg is not placed")
	}
	s.opened = call.MediaOpened{Leg: leg, Offer: offer, Err: err}
	s.apply(&s.opened)
}

// joinPeer connects callee and far leg, if its SDP answer can be used.
func (s *callShell) joinPeer(e attempt.JoinPeer) {
	d, id, self := s.d, s.call.Machine.A.ID, s.self
	joined := func(err error) *call.PeerJoined {
		if err != nil {
			d.log.Warn().Err(err).Str("attempt_id", string(id)).Msg("the SDP of a far leg cannot be used")
		}
		return &call.PeerJoined{Attempt: id, Leg: e.Leg, Err: err}
	}
	if d.Elsewhere(id) {
		d.away.JoinPeerThen(id, e.Leg, e.SDP, func(err error) { d.root.Send(self, joined(err)) })
		return
	}
	s.apply(joined(d.media.JoinPeer(id, e.Leg, e.SDP)))
}

var errDigitsFull = engine.Conflict("digits_not_sent",
	"the keys were not sent: too many are waiting, or the call is being ended; try again with fewer")

// sendDigits sends keys on the media path, or by signalling where the far side wants
// that.
func (s *callShell) sendDigits(e *call.SendDigits) {
	d, to := s.d, s.d.requester(e.Request)
	if d.Elsewhere(e.Attempt) {
		d.away.SendDigitsThen(e.Attempt, e.Leg, e.Digits, func(err error) {
			if err != nil {
				err = errDigitsFull
			}
			reply(d, to, nil, err)
		})
		return
	}
	bySIP, err := d.media.SendDigits(e.Attempt, e.Digits)
	sent := err == nil
	for i := 0; sent && bySIP && i < len(e.Digits); i++ {
		sent = d.phone.SendDigit(e.Leg, e.Digits[i], engine.KeyDuration)
	}
	if !sent {
		reply(d, to, nil, errDigitsFull)
		return
	}
	reply(d, to, nil, nil)
}

// suppress follows a suppression that the call brought about.
func (s *callShell) suppress(e *call.Suppress) {
	d, to := s.d, s.d.requester(e.Request)
	if to == nil {
		d.suppressedBy(e.Number, nil)
		return
	}
	d.suppressedBy(e.Number, func(err error) { reply(d, to, nil, err) })
}

// fetchAttempt reads the attempt that a result is about and gives the command back
// with it.
func (s *callShell) fetchAttempt(e *call.FetchAttempt) {
	d, self := s.d, s.self
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		d.root.Send(self, e.Found(d.store.Attempt(ctx, e.Attempt)))
	}()
}

// whenSettled sends a message once the node with the attempt's legs has carried out
// what it was told.
func (d *deps) whenSettled(e *call.WhenSettled, to *actor.PID) {
	d.away.Settled(e.Attempt, func() { d.root.Send(to, e.Message) })
}

// request names an actor that waits for an answer, for the core, and requester is the
// actor that is meant.
func request(pid *actor.PID) engine.Request {
	if pid == nil {
		return ""
	}
	return engine.Request(pid.Id)
}

func (d *deps) requester(r engine.Request) *actor.PID {
	if r == "" {
		return nil
	}
	return actor.NewPID(d.system.Address(), string(r))
}

// --- what the core asks of the process -----------------------------------------------

func (d *deps) limits() call.Limits {
	c := &d.cfg
	return call.Limits{
		RingGrace: c.RingGrace, ResultLinger: c.ResultLinger, SendByTimeout: c.SendByTimeout,
		DialoutRing: c.DialoutRing, OptOutDigit: c.OptOutDigit, ResultBase: c.ResultBase,
	}
}

// LeaseEnds is when another node may dial what this one dials, 0: never.
func (d *deps) LeaseEnds() engine.BootTime {
	if d.member == nil {
		return 0
	}
	return max(d.member.LeaseEnds(), 1)
}

// Destination says why a number must not be called.
func (d *deps) Destination(to, from engine.PhoneNumber) error { return d.destinations.judge(to, from) }

// CalleeCap is what bounds how often a number is called, for an intent of now; nil
// when nothing does.
func (d *deps) CalleeCap(now time.Time) *journal.CalleeCap {
	r := d.callee.Load()
	if r.attempts <= 0 {
		return nil
	}
	return &journal.CalleeCap{Attempts: r.attempts, Period: r.period, Now: now}
}

// ResultToken is the bearer token of a call's result.
func (d *deps) ResultToken(id engine.CallID) string { return d.cfg.ResultToken(id) }

// Carrier is the node for a new call of a campaign, 0 outside a cluster.
func (d *deps) Carrier(trunk engine.TrunkID) engine.Incarnation {
	if d.away == nil {
		return 0
	}
	return d.away.Carrier(trunk)
}

// Here is this node, 0 outside a cluster. It carries the dialouts that it owns: nobody
// takes one over, so that its legs must not outlive its actor.
func (d *deps) Here() engine.Incarnation {
	if d.away == nil {
		return 0
	}
	return d.away.Here()
}

// Elsewhere says that the legs of an attempt are on another node, and Unheard that
// nothing is heard of that.
func (d *deps) Elsewhere(a engine.AttemptID) bool { return d.away != nil && d.away.Away(a) }
func (d *deps) Unheard(a engine.AttemptID) bool   { return d.away != nil && d.away.Unheard(a) }

// Shared says whether other nodes use the same trunks, bots and numbers.
func (d *deps) Shared() bool { return d.keepers != nil }

// Endpoints are those of a bot, in the order in which they are tried now.
func (d *deps) Endpoints(b *engine.Bot) []string { return d.reach.of(b) }

// AsksEligibility says whether a hook is asked about contacts of a campaign.
func (d *deps) AsksEligibility(h eligibility.Hook) bool {
	return d.eligibility != nil && d.eligibility.Asks(h)
}

// Zones are the time zones of a number.
func (d *deps) Zones(n engine.PhoneNumber) []string { return number.Zones(n) }
