package dialout

import (
	"context"
	"sync/atomic"

	"dialler/actors/host"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/campaign"
	admission "dialler/engine/dialout"
	"dialler/engine/journal"
)

// Cancel ends a dialout that waits for its time; Conflict "dialout_placed" when it does not wait any more.
type Cancel struct {
	Dialout campaign.ScheduledDialout
	Who     engine.Who
}

// Stats are the metrics of scheduled dialouts, and of calls that came in.
type Stats struct {
	Scheduled, Cancelled, Expired atomic.Int64
	// Of the calls that came in: CallsIn were offered, CallsInTurnedAway refused, or given up before they were
	// begun.
	CallsIn, CallsInTurnedAway atomic.Int64
	// CallsInStrange were for numbers that are not ours, CallsInUnasked beyond how often the store may be asked.
	CallsInStrange, CallsInUnasked atomic.Int64
}

func (s *Stats) count(t journal.Type) {
	switch t { //nolint:exhaustive // other events are not of scheduled dialouts
	case journal.DialoutScheduled:
		s.Scheduled.Add(1)
	case journal.DialoutCancelled:
		s.Cancelled.Add(1)
	case journal.DialoutExpired:
		s.Expired.Add(1)
	}
}

// attemptOf is the identifier of the attempt: lists are in the order of its time.
func (o *dialout) attemptOf(cmd *campaign.Dialout) engine.AttemptID {
	at := o.d.Clock.Now()
	if from := cmd.Times.NotBefore; from != nil && from.After(at) {
		at = *from
	}
	return engine.AttemptID(host.NewID(at))
}

// wait carries out the effects that concern the dialouts that wait for their time.
func (o *dialout) wait(effect admission.Effect) (known bool) {
	d := o.d
	switch e := effect.(type) {
	case admission.Answer:
		d.Reply(d.Requester(e.Request), e.Value, nil)
	case admission.Persist:
		d.Root.Send(d.Writers.For(string(e.Attempt)), &writer.Persist{Write: *e.Write, ReplyTo: o.self, Step: e.Step})
	case admission.ReadDue:
		self := o.self
		o.ask(func(ctx context.Context) {
			m := &admission.DueRead{}
			m.Rows, m.Next, m.Err = d.Store.DueDialouts(ctx, d.Clock.Now(), e.Claim, e.Limit, e.Except)
			d.Root.Send(self, m)
		})
	case admission.PutOff:
		o.ask(func(ctx context.Context) {
			if err := d.Store.PutOffDialout(ctx, e.Attempt, e.Until, e.Reason); err != nil { // it is looked at again anyway
				d.Log.Warn().Err(err).Str("attempt_id", string(e.Attempt)).Msg("a scheduled dialout is not put off")
			}
		})
	case admission.Count:
		d.Stats.count(e.Type)
	default:
		return false
	}
	return true
}

// ask queries the store outside Receive.
func (o *dialout) ask(query func(context.Context)) {
	d := o.d
	go func() {
		ctx, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		query(ctx)
	}()
}
