package call

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/trunk"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
)

// Core decides what a contact or a dialout does.
type Core interface {
	Apply(call.Input, []call.Effect) []call.Effect
}

// Shell is what the actors of contacts and dialouts have in common: it passes events to the core,
// and carries out the effects that concern a call.
type Shell struct {
	Self  *actor.PID
	Owner Owner     // of the attempts
	Now   time.Time // time of the current message

	d    *Process
	core Core
	call *call.Call // of the core
	// own carries out effects that differ between contacts and dialouts; false means it does not
	// know the effect.
	own  func(call.Effect) bool
	boot engine.BootTime

	effects   []call.Effect
	opened    call.MediaOpened // events that the core does not keep, reset for each use
	closed    call.MediaClosed
	timers    [10]func() // of call.Timers
	owned     engine.AttemptID
	legSink   func(engine.LegEvent)
	mediaSink func(engine.MediaEvent)
}

// NewShell returns a shell; Begin and Drive prepare it.
func NewShell(d *Process) Shell { return Shell{d: d} }

// Drive sets the core whose effects the shell carries out, and the core's call.
func (s *Shell) Drive(core Core, of *call.Call) { s.core, s.call = core, of }

// Begin prepares the shell for a life of its actor. own carries out effects that differ between
// contacts and dialouts; false means it does not know the effect.
func (s *Shell) Begin(self *actor.PID, own func(call.Effect) bool) {
	root := s.d.Root
	s.Self, s.own, s.effects = self, own, s.effects[:0]
	s.legSink = func(e engine.LegEvent) { root.Send(self, &e) }
	s.mediaSink = func(e engine.MediaEvent) { root.Send(self, &e) }
}

// Stamp takes the time of a message once.
func (s *Shell) Stamp() { s.Now, s.boot = s.d.Clock.Now(), s.d.Clock.Boot() }

// Apply passes an event to the core and carries out the effects, in order. If an effect has an
// immediate answer, that is applied before the next effect.
func (s *Shell) Apply(event any) {
	a := &s.call.Machine.A
	was, id, waited := stagesOf(a), a.ID, a.InviteAt == nil
	from := len(s.effects)
	s.effects = s.core.Apply(call.Input{Now: s.Now, Boot: s.boot, Event: event, Process: s.d}, s.effects)
	end := len(s.effects)
	if a.ID == id {
		s.timed(was)
		if waited && a.InviteAt != nil && a.ReservedAt != nil {
			s.d.OnInvite(a.InviteAt.Sub(*a.ReservedAt))
		}
	}
	for i := from; i < end; i++ {
		s.do(s.effects[i])
	}
	clear(s.effects[from:end])
	s.effects = s.effects[:from]
}

// timed reports the stages that an event reached; of a revised verdict only the first counts.
func (s *Shell) timed(was stages) {
	a := &s.call.Machine.A
	if a.AnsweredAt == nil || a.Inbound {
		return
	}
	for i, at := range stagesOf(a) {
		if at != nil && was[i] == nil {
			s.d.OnStage(Stages[i], at.Sub(*a.AnsweredAt))
		}
	}
}

// do carries out one effect. call.Effects lists all of them; a test keeps the two consistent.
func (s *Shell) do(e call.Effect) {
	d, a := s.d, &s.call.Machine.A
	switch e := e.(type) {
	case call.Count:
		s.count(e)
	case *call.Answer:
		d.Reply(d.Requester(e.Request), e.Value, e.Err)
	case *call.Replaced:
		d.replaced(e)
	case *call.Owns:
		s.Disown()
		s.owned = e.Attempt
		d.Owners.add(e.Attempt, s.Owner)
	case *call.OpenMedia:
		offer, err := d.Media.Open(e.Open, s.mediaSink)
		s.mediaOpened(e.Leg, offer, err)
	case *call.OpenPeer:
		offer, err := d.Media.OpenPeer(e.Attempt, e.Leg, e.Profile)
		s.mediaOpened(e.Leg, offer, err)
	case *call.PlaceLeg:
		d.Phone.PlaceLeg(e.Leg, s.legSink)
	case *call.RefuseLeg:
		d.Phone.RefuseLeg(e.Leg, e.Code)
	case attempt.Confirm:
		d.Phone.ConfirmLeg(e.Leg)
	case attempt.Cancel:
		d.Phone.CancelLeg(e.Leg)
	case attempt.HangUp:
		d.Phone.HangUpLeg(e.Leg, e.Cause)
	case attempt.HearEarly:
		d.Media.HearEarly(a.ID, e.SDP)
	case attempt.AnswerMedia:
		if !a.Inbound {
			d.Stats.Answered.Add(1)
		}
		d.Media.Answer(a.ID, e.SDP, *a.AnsweredAt)
	case *call.AttachBot:
		d.Connects.bot(e.Bot).begin(e.Attach.Attempt, e.Since)
		d.Media.AttachBot(e.Attach)
	case *call.BotSettled:
		d.Connects.bot(e.Bot).end(e.Attempt, e.Since, e.Telling)
	case *call.BotTried:
		d.Root.Send(d.Fleet, e)
	case attempt.JoinPeer:
		s.joinPeer(e)
	case attempt.AnswerRefer:
		d.Phone.AnswerRefer(e.Leg, e.Accept)
	case attempt.NotifyRefer:
		d.Phone.NotifyRefer(e.Leg, e.Code, e.Reason)
	case attempt.ClosePeer:
		d.Media.ClosePeer(a.ID, e.Leg)
	case attempt.DetachBot:
		d.Media.DetachBot(a.ID)
	case attempt.PlayMessage:
		if !a.Inbound {
			d.Stats.Abandoned.Add(1)
			d.OnStage(StageMessage, a.Ending.At.Sub(s.call.Machine.CountsFrom()))
		}
		d.Media.PlayMessage(a.ID)
	case attempt.LeaveVoicemail:
		d.Media.LeaveVoicemail(engine.LeaveVoicemail{Attempt: a.ID, Message: e.Message, AtOnce: e.AtOnce})
	case attempt.HearDigit:
		if leg := d.Media.HearDigit(a.ID, e.Digit); leg != "" {
			d.Phone.SendDigit(leg, e.Digit, engine.KeyDuration)
		}
	case *call.SendDigits:
		s.sendDigits(e)
	case attempt.CloseMedia:
		q := d.Media.CloseMedia(a.ID)
		s.closed = call.MediaClosed{Quality: q}
		s.Apply(&s.closed)
		d.OnQuality(a.Trunk, q)
	case *call.AttachLegs:
		s.Apply(&call.LegsAttached{Known: len(d.Phone.AttachLeg(e.Attempt, s.legSink))})
	case *call.AttachMedia:
		d.Media.AttachMedia(e.Attempt, s.mediaSink)
	case *call.RecoverLeg:
		d.Phone.RecoverLeg(e.Leg, s.legSink)
	case *call.ForgetLegs:
		d.Phone.ForgetLegs(e.Attempt)
	case *call.ReserveTrunk:
		d.Root.Send(d.Trunks, &trunk.Reserve{Leg: e.Leg, Attempt: e.Attempt, Tried: e.Tried, Only: e.Only,
			ReplyTo: s.Self})
	case *call.TrunkEvent:
		d.Root.Send(d.Trunks, e)
	case *call.Arm:
		s.stop(e.Fired.Timer)
		s.timers[timerSlot[e.Fired.Timer]] = d.After(e.After, s.Self, &e.Fired)
	case *call.Disarm:
		s.stop(e.Timer)
	case *call.ToSelf:
		d.Root.Send(s.Self, e.Event)
	case *call.Suppress:
		s.suppress(e)
	case *call.FetchAttempt:
		s.fetchAttempt(e)
	case *call.Refused:
		d.Stats.Illegal.Add(1)
		d.Log.Warn().Err(e.Err).Str("attempt_id", string(e.Attempt)).Str("contact_id", string(e.Contact)).
			Msg("event refused by a call or its contact")
	case attempt.Over:
		if a.Inbound {
			d.Stats.CallersEnded.Add(1)
		} else {
			d.Stats.ended(a.Outcome)
		}
		s.logEnd(a)
		for _, t := range call.Timers {
			if t != call.TimerLinger && t != call.TimerLoad {
				s.stop(t)
			}
		}
	default:
		if !s.own(e) {
			d.Stats.Illegal.Add(1)
			d.Log.Error().Str("effect", fmt.Sprintf("%T", e)).Str("attempt_id", string(a.ID)).
				Msg("an effect has no handler")
		}
	}
}

// logEnd logs the one line of each call. It has neither number nor variables.
func (s *Shell) logEnd(a *attempt.Attempt) {
	e := s.d.Log.Info()
	if !e.Enabled() {
		return
	}
	e = e.Str("call_id", string(a.ID.Call())).Str("campaign_id", string(a.Campaign)).Str("contact_id", string(a.Contact)).
		Str("bot_id", string(a.Bot)).Str("trunk", string(a.Trunk)).Str("outcome", string(a.Outcome)).
		Str("abandon_cause", string(a.Cause)).Str("hung_up_by", string(a.HungUpBy)).
		Int("sip_code", a.SIPCode).Int64("ring_ms", a.Ring().Milliseconds()).Int64("talk_ms", a.TalkMS())
	total := time.Duration(0)
	if a.ReservedAt != nil && a.EndedAt != nil {
		total = a.EndedAt.Sub(*a.ReservedAt)
	}
	e.Int64("total_ms", total.Milliseconds()).Msg("call ended")
}

// timerSlot maps each timer to the index of its stop function.
var timerSlot = func() map[attempt.Timer]int {
	slots := map[attempt.Timer]int{}
	for i, t := range call.Timers {
		slots[t] = i
	}
	return slots
}()

func (s *Shell) stop(t attempt.Timer) {
	i := timerSlot[t]
	if stop := s.timers[i]; stop != nil {
		s.timers[i] = nil
		stop()
	}
}

// Leave stops an actor: a call that is still live goes on under another node.
func (s *Shell) Leave() {
	if s.call != nil && s.call.Live() {
		s.d.Stats.Released.Add(1)
	}
	s.Disown()
}

// Disown releases the actor's attempt, which has no owner any more.
func (s *Shell) Disown() {
	if s.owned != "" {
		s.d.Owners.remove(s.owned)
		s.owned = ""
	}
}

func (s *Shell) count(what call.Count) {
	st := &s.d.Stats
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
	case call.CountCaller:
		st.Callers.Add(1)
	case call.CountCallerServed:
		st.CallersServed.Add(1)
		if a := &s.call.Machine.A; a.BotConnectedAt != nil && a.InviteAt != nil {
			st.CallersWithBot.Add(1)
			st.CallersToBotMS.Add(a.BotConnectedAt.Sub(*a.InviteAt).Milliseconds())
		}
	case call.CountCallerTurnedAway:
		st.CallersTurnedAway.Add(1)
	}
}

func (s *Shell) mediaOpened(leg engine.LegID, offer []byte, err error) {
	if err != nil {
		s.d.Log.Error().Err(err).Str("attempt_id", string(s.call.Machine.A.ID)).
			Msg("no media path; the leg is not placed")
	}
	s.opened = call.MediaOpened{Leg: leg, Offer: offer, Err: err}
	s.Apply(&s.opened)
}

// joinPeer connects callee and far leg, if its SDP answer can be used.
func (s *Shell) joinPeer(e attempt.JoinPeer) {
	d, id, self := s.d, s.call.Machine.A.ID, s.Self
	joined := func(err error) *call.PeerJoined {
		if err != nil {
			d.Log.Warn().Err(err).Str("attempt_id", string(id)).Msg("the SDP of a far leg cannot be used")
		}
		return &call.PeerJoined{Attempt: id, Leg: e.Leg, Err: err}
	}
	if d.Elsewhere(id) {
		d.Remote.JoinPeerThen(id, e.Leg, e.SDP, func(err error) { d.Root.Send(self, joined(err)) })
		return
	}
	s.Apply(joined(d.Media.JoinPeer(id, e.Leg, e.SDP)))
}

var errDigitsFull = engine.Conflict("digits_not_sent",
	"the keys were not sent: too many are waiting, or the call is being ended; try again with fewer")

// sendDigits sends keys on the media path, or by signalling if the far side requires it.
func (s *Shell) sendDigits(e *call.SendDigits) {
	d, to := s.d, s.d.Requester(e.Request)
	if d.Elsewhere(e.Attempt) {
		d.Remote.SendDigitsThen(e.Attempt, e.Leg, e.Digits, func(err error) {
			if err != nil {
				err = errDigitsFull
			}
			d.Reply(to, nil, err)
		})
		return
	}
	bySIP, err := d.Media.SendDigits(e.Attempt, e.Digits)
	sent := err == nil
	for i := 0; sent && bySIP && i < len(e.Digits); i++ {
		sent = d.Phone.SendDigit(e.Leg, e.Digits[i], engine.KeyDuration)
	}
	if !sent {
		d.Reply(to, nil, errDigitsFull)
		return
	}
	d.Reply(to, nil, nil)
}

// suppress distributes a suppression that the call caused.
func (s *Shell) suppress(e *call.Suppress) {
	d, to := s.d, s.d.Requester(e.Request)
	if to == nil {
		d.Suppress(e.Number, nil)
		return
	}
	d.Suppress(e.Number, func(err error) { d.Reply(to, nil, err) })
}

// fetchAttempt reads the attempt of a result and returns the command with it.
func (s *Shell) fetchAttempt(e *call.FetchAttempt) {
	d, self := s.d, s.Self
	go func() {
		ctx, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		d.Root.Send(self, e.Read(ctx, d.Store))
	}()
}
