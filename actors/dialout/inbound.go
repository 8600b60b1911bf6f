package dialout

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	admission "dialler/engine/dialout"
	"dialler/engine/inbound"
	"dialler/engine/trunk"
)

type (
	// CalledIn brings a call that a trunk offers to this node.
	CalledIn struct{ Call engine.IncomingCall }
	// Numbers are the configured numbers; Also is one that is configured now.
	Numbers struct {
		All  []engine.PhoneNumber
		Also engine.PhoneNumber
	}
)

type (
	// found is what the store knows of a call's numbers, nil when it does not answer.
	found struct {
		attempt engine.AttemptID
		called  *inbound.Called
	}
	// gaveUp says that the leg of a call ended before it was begun.
	gaveUp struct{ attempt engine.AttemptID }
	// rings says that the caller has waited for ringAfter.
	rings struct{ attempt engine.AttemptID }
)

// ringAfter is how long a caller waits for a seat before hearing it ring (RFC 3261 §8.2.6.1): most calls
// have one sooner.
const ringAfter = 200 * time.Millisecond

// cameIn runs an event of a call that came in through its machine and carries out the effects.
func (o *dialout) cameIn(ctx actor.Context, ev inbound.Event) {
	ev.Now, ev.Barred = o.d.Clock.Now(), o.barred() != nil
	was := o.came.Counts
	effects := o.came.Apply(ev)
	now := o.came.Counts
	o.d.Stats.CallsIn.Add(int64(now.Offered - was.Offered))
	o.d.Stats.CallsInTurnedAway.Add(int64(now.TurnedAway - was.TurnedAway))
	o.d.Stats.CallsInStrange.Add(int64(now.Strange - was.Strange))
	o.d.Stats.CallsInUnasked.Add(int64(now.Unasked - was.Unasked))
	for _, e := range effects {
		o.doInbound(ctx, e)
	}
}

// asked is what the store knows of a call: its numbers, and the media profile of its trunk.
func (o *dialout) asked(ctx context.Context, c *inbound.Call, e inbound.Ask) (*inbound.Called, error) {
	called, err := o.d.Store.CallIn(ctx, e.To, e.From, o.d.Clock.Now().Add(-inbound.Memory))
	if err != nil {
		return nil, err
	}
	trunks, err := o.d.Store.Trunks(ctx)
	for i := range trunks {
		if trunks[i].ID == c.In.Trunk {
			called.Media = trunk.Profile(&trunks[i])
		}
	}
	return called, err
}

func (o *dialout) doInbound(ctx actor.Context, effect inbound.Effect) {
	d := o.d
	switch e := effect.(type) {
	case inbound.Refuse:
		d.Phone.RefuseLeg(e.Leg, e.Code)
		id, _, _ := e.Leg.Attempt()
		d.Phone.ForgetLegs(id)
	case inbound.Ask:
		self, of := o.self, o.came.Of[e.Attempt]
		d.Phone.AttachLeg(e.Attempt, func(ev engine.LegEvent) {
			if ev.Kind.Final() {
				d.Root.Send(self, &gaveUp{ev.Attempt})
			}
		})
		o.ask(func(c context.Context) {
			called, err := o.asked(c, of, e)
			if err != nil {
				d.Log.Warn().Err(err).Str("attempt_id", string(e.Attempt)).Msg("a call that came in is refused")
				called = nil
			}
			d.Root.Send(self, &found{e.Attempt, called})
		})
	case inbound.Seat:
		d.After(ringAfter, o.self, &rings{e.Call.In.Attempt})
		o.apply(ctx, &admission.CallIn{Attempt: e.Call.In.Attempt, Bot: e.Call.Answer.Bot})
	case inbound.Withdraw:
		o.apply(ctx, &admission.CallInLeft{Attempt: e.Attempt})
	case inbound.Begin:
		o.begin(ctx, e.Call)
	}
}

// seating carries out the effects that concern the seats of calls that came in.
func (o *dialout) seating(ctx actor.Context, effect admission.Effect) (known bool) {
	switch e := effect.(type) {
	case admission.CallInSeated:
		o.cameIn(ctx, inbound.Event{Kind: inbound.Seated, Attempt: e.Attempt, By: e.By})
	case admission.CallInRefused:
		o.cameIn(ctx, inbound.Event{Kind: inbound.NoSeat, Attempt: e.Attempt})
	default:
		return false
	}
	return true
}

// begin starts the actor of a call that came in.
func (o *dialout) begin(ctx actor.Context, c *inbound.Call) {
	o.spawn(ctx, c.In.Attempt, o.state.Bots[c.Answer.Bot], &call.TakeCall{Call: c.In, To: c.To, Caller: c.Caller,
		Media: c.Media, Returns: c.Answer.Returns, Variables: c.Answer.Variables,
		Message: c.Answer.Message, Bot: c.Answer.Bot, By: c.By})
}

// tell tells the contact who called back of that call, again if that fails.
type tell struct {
	*call.Returned
	failed int
}

// tellTries is how often a contact is told; between them pass 1, 2, 4 s and so on.
const tellTries = 6

func (o *dialout) tell(m *tell) {
	self := o.self
	o.ask(func(c context.Context) {
		err := o.d.Returned(c, m.Command)
		if err == nil {
			return
		}
		o.d.Log.Warn().Err(err).Str("attempt_id", string(m.Command.CalledBack.Attempt)).
			Msg("the contact who called back was not told")
		if m.failed+1 < tellTries && !campaign.ResultRefused(err) {
			o.d.After(time.Second<<m.failed, self, &tell{m.Returned, m.failed + 1})
		}
	})
}

const (
	// untoldEvery is how often a node looks for calls back of whose result the contact has not heard: whoever was
	// to tell it is gone, or could not for too long.
	untoldEvery = 30 * time.Second
	// untoldSince is how long ago such a call began at most; untoldFirst when the node starts.
	untoldSince, untoldFirst = 2 * time.Hour, 7 * 24 * time.Hour
	untoldAtOnce             = 100
)

// lookUntold looks for such calls, begun within a time.
type lookUntold struct{ within time.Duration }

// tellUntold tells their contacts.
func (o *dialout) tellUntold(m *lookUntold) {
	d, self := o.d, o.self
	next := &lookUntold{untoldSince}
	if d.Fenced() || d.Writers.Database.Away() {
		d.After(untoldEvery, self, m)
		return
	}
	go func() {
		more, err := o.toldAll(m.within)
		if more && err == nil {
			d.After(time.Second, self, m)
			return
		}
		if err != nil {
			d.Log.Warn().Err(err).Msg("contacts who called back were not told; it is tried again")
			next = m
		}
		d.After(untoldEvery, self, next)
	}()
}

// toldAll tells the contacts of calls back that they have not heard of; more says that there may be others.
func (o *dialout) toldAll(within time.Duration) (more bool, failed error) {
	d := o.d
	limited := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		return do(ctx)
	}
	var list []attempt.Attempt
	failed = limited(func(ctx context.Context) (err error) {
		list, err = d.Store.CallsBackUntold(ctx, d.Clock.Now().Add(-within), untoldAtOnce)
		return err
	})
	told := 0
	for i := range list {
		cmd := call.CalledBack(&list[i]).Command
		cmd.Late = true
		err := limited(func(ctx context.Context) error { return d.Returned(ctx, cmd) })
		switch {
		case err == nil:
			told++
		case !campaign.ResultRefused(err):
			failed = err
		}
	}
	return told > 0 && len(list) == untoldAtOnce, failed
}
