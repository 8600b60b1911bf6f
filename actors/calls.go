package actors

import (
	"context"
	"time"

	callactor "dialler/actors/call"
	dialoutactor "dialler/actors/dialout"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/frequency"
	"dialler/engine/journal"
	"dialler/engine/number"
	core "dialler/engine/run"
)

// Dialout places one call outside campaigns, or stores it for later.
func (t *Tree) Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.DialoutReply{}, err
	}
	return ask[campaign.DialoutReply](ctx, t, t.dialout, &dialoutactor.Place{Command: cmd})
}

// CalledIn takes a call that a trunk brings to this node: it is answered or refused.
func (t *Tree) CalledIn(c engine.IncomingCall) {
	t.sys.Root.Send(t.dialout, &dialoutactor.CalledIn{Call: c})
}

// Call returns the current state of a call: its owner's while it is live, the stored one
// afterwards.
func (t *Tree) Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	if aid, ok := id.Attempt(); ok {
		if of, ok := t.calls.Owners.Of(aid); ok {
			if a, err := t.askOwner(ctx, aid, of); err == nil {
				return a, nil
			}
		}
	}
	a, err := t.stored(ctx, id)
	if err != nil {
		return a, err
	}
	return t.Live(ctx, a), nil
}

// Has says whether the actor of an attempt is here.
func (t *Tree) Has(id engine.AttemptID) bool { return t.calls.Owners.Owned(id) }

// liveWait bounds the wait for the owner of a live attempt; after that, its row is good enough.
const liveWait = 500 * time.Millisecond

// Live refreshes the stored row of an attempt that has not ended.
func (t *Tree) Live(ctx context.Context, a attempt.Attempt) attempt.Attempt {
	if a.State == attempt.Ended || a.State == attempt.Scheduled {
		return a
	}
	now, err := t.askOwner(ctx, a.ID, callactor.Owner{Campaign: a.Campaign, Contact: a.Contact})
	if err != nil {
		// It has ended meanwhile, or its owner is busy.
		if again, err := t.stored(ctx, a.ID.Call()); err == nil {
			return again
		}
		return a
	}
	return now
}

// askOwner asks an attempt's actor for its state.
func (t *Tree) askOwner(ctx context.Context, id engine.AttemptID, of callactor.Owner) (attempt.Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	msg := &call.Show{Contact: of.Contact, Attempt: id}
	if of.Campaign == "" {
		return ask[attempt.Attempt](ctx, t, t.dialout, msg)
	}
	return ask[attempt.Attempt](ctx, t, t.campaigns, toRun(of.Campaign, msg))
}

// stored returns a call's row, or a dialout that waits for its time.
func (t *Tree) stored(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	aid, ok := id.Attempt()
	if !ok {
		return attempt.Attempt{}, call.ErrCallNotFound
	}
	a, ok, err := t.store.Attempt(ctx, aid)
	if err != nil {
		return attempt.Attempt{}, journal.Unavailable(err)
	}
	if ok {
		return a, nil
	}
	d, ok, err := t.store.ScheduledDialout(ctx, aid)
	switch {
	case err != nil:
		return attempt.Attempt{}, journal.Unavailable(err)
	case ok:
		return d.Shown(), nil
	}
	// It may have been placed between the two look-ups.
	if a, ok, err = t.store.Attempt(ctx, aid); err != nil {
		return attempt.Attempt{}, journal.Unavailable(err)
	} else if !ok {
		return attempt.Attempt{}, call.ErrCallNotFound
	}
	return a, nil
}

// CancelDialout ends a dialout that waits for its time; Conflict "dialout_placed" when it was placed or
// has ended.
func (t *Tree) CancelDialout(ctx context.Context, cmd campaign.CancelDialout) error {
	if err := t.writers.Database.Err(); err != nil {
		return err
	}
	id, _ := cmd.Call.Attempt()
	d, ok, err := t.store.ScheduledDialout(ctx, id)
	switch {
	case err != nil:
		return journal.Unavailable(err)
	case !ok:
		if _, err := t.stored(ctx, cmd.Call); err != nil {
			return err
		}
		return journal.ErrNotScheduled
	}
	_, err = ask[any](ctx, t, t.dialout, &dialoutactor.Cancel{Dialout: d, Who: cmd.Who})
	return err
}

// SubmitResult stores the result of a conversation, however late it comes.
func (t *Tree) SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error {
	if err := t.writers.Database.Err(); err != nil {
		return err
	}
	id, _ := cmd.Call.Attempt()
	of, ok := t.calls.Owners.Of(id)
	if !ok {
		a, err := t.stored(ctx, cmd.Call)
		if err != nil {
			return err
		}
		of = callactor.Owner{Campaign: a.Campaign, Contact: a.Contact}
	}
	s := call.StoreResult{Call: cmd.Call, Result: cmd.Result, Late: cmd.Late, CalledBack: cmd.CalledBack}
	switch {
	case of.Campaign == "" && cmd.CalledBack != nil: // nobody waits for the result of a dialout
		return nil
	case of.Campaign == "":
		answer, err := ask[any](ctx, t, t.dialout, &s)
		if at, known := answer.(attempt.Attempt); err != nil || known && at.EndedAt == nil {
			return err
		}
		return t.returned(ctx, cmd)
	}
	_, err := ask[any](ctx, t, t.campaigns, toRun(of.Campaign, &core.SubmitResult{Contact: of.Contact, Result: s}))
	return err
}

// returned passes the result of a call that came in and is over on to the contact who called back, if there is
// one. One that comes before the end is passed on with it.
func (t *Tree) returned(ctx context.Context, cmd campaign.SubmitResult) error {
	a, err := t.stored(ctx, cmd.Call)
	if err != nil || !a.Inbound || a.Returns == "" || a.ServedAt == nil || a.EndedAt == nil ||
		a.Result == nil {
		return err
	}
	// What the row has now counts, whenever it was given: the contact may have heard an earlier word.
	cmd.Late, cmd.Result = false, *a.Result
	cmd.Call, cmd.CalledBack = a.Returns.Call(), &campaign.CalledBack{Attempt: a.ID, From: a.To, Talk: a.Talk()}
	return t.calls.Returned(ctx, cmd)
}

// HangUp ends a live call, or a dialout that waits for its time.
func (t *Tree) HangUp(ctx context.Context, id engine.CallID, who engine.Who) error {
	return t.tell(ctx, id, "", who)
}

// SendDigits sends keys (0-9, *, #, A-D) to the callee of an answered call.
func (t *Tree) SendDigits(ctx context.Context, id engine.CallID, digits string) error {
	return t.tell(ctx, id, digits, engine.Who{})
}

// tell sends keys to a call, or ends it without any; who is asked for a dialout that waits.
func (t *Tree) tell(ctx context.Context, id engine.CallID, digits string, who engine.Who) error {
	aid, _ := id.Attempt()
	of, live := t.calls.Owners.Of(aid)
	if !live {
		a, err := t.stored(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case a.State == attempt.Ended:
			return call.ErrCallEnded
		case a.State == attempt.Scheduled && digits != "":
			return call.ErrNotAnswered
		case a.State == attempt.Scheduled:
			return t.CancelDialout(ctx, campaign.CancelDialout{Call: id, Who: who})
		}
		of = callactor.Owner{Campaign: a.Campaign, Contact: a.Contact}
	}
	if of.Campaign == "" {
		_, err := ask[any](ctx, t, t.dialout, &call.Keys{Attempt: aid, Digits: digits})
		return err
	}
	_, err := ask[any](ctx, t, t.campaigns, toRun(of.Campaign, &core.Keys{Contact: of.Contact,
		Keys: call.Keys{Attempt: aid, Digits: digits}}))
	return err
}

// Transfer asks for a live call to be handed over to a number or SIP address. Call shows the
// outcome.
func (t *Tree) Transfer(ctx context.Context, id engine.CallID, to string) error {
	a, err := t.stored(ctx, id)
	if err != nil {
		return err
	}
	switch a.State { //nolint:exhaustive // in all others it lives
	case attempt.Ended:
		return engine.NotFound("call_ended", "")
	case attempt.Scheduled:
		return engine.Conflict("call_not_connected", "")
	}
	transfer := call.Transfer{Attempt: a.ID, To: to}
	if a.Campaign == "" {
		_, err = ask[any](ctx, t, t.dialout, &transfer)
		return err
	}
	_, err = ask[any](ctx, t, t.campaigns, toRun(a.Campaign, &core.Transfer{Contact: a.Contact,
		Transfer: transfer}))
	return err
}

// Flush waits until everything that calls have written so far is in the database.
func (t *Tree) Flush(ctx context.Context) error { return t.writers.Flush(ctx) }

// LiveCalls counts the attempts that have not ended.
func (t *Tree) LiveCalls() int64 { return t.stats.Calls.Live() }

// Destination refuses (422 "destination_not_allowed") a number to which this
// installation places no calls.
func (t *Tree) Destination(to number.Callee) error {
	return t.calls.Destinations.Now().JudgeCallee(to, "")
}

// OnlyCountry is the country to which this installation calls when there is no other, "" otherwise.
func (t *Tree) OnlyCountry() string { return t.calls.Destinations.Now().Only() }

// SetRules changes the allowed countries and the limits of calls to one number, as in Config. It
// applies from the next intent to dial.
func (t *Tree) SetRules(countries []string, calls frequency.Rules) {
	t.calls.Destinations.Allow(countries)
	t.calls.CalleeLimit.Set(calls)
}
