package process

import (
	"context"
	"slices"
	"sync"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// Calls implements http.Calls; live calls are shown as their owners know them.
func (f *Front) Calls(ctx context.Context, q attempt.Query) ([]attempt.Attempt, engine.AttemptID, error) {
	list, next, err := f.Store.Lists.Calls(ctx, q)
	if err != nil {
		return nil, "", err
	}
	var wg sync.WaitGroup
	for i := range list {
		if a := &list[i]; a.State != attempt.Ended {
			wg.Go(func() { *a = f.Live(ctx, *a) })
		}
	}
	wg.Wait()
	return list, next, nil
}

// Ladder implements http.Calls: the ladder from the SIP side if still there, otherwise the stored
// one.
func (f *Front) Ladder(ctx context.Context, id engine.CallID) ([]engine.SIPMessage, error) {
	a, ok := id.Attempt()
	if !ok {
		return nil, engine.NotFound("call_not_found", "")
	}
	kept, err := f.Store.Lists.Ladder(ctx, a)
	if err != nil {
		return nil, err
	}
	var out []engine.SIPMessage
	live := f.p.sip.Ladder(a)
	for _, m := range kept {
		if !slices.ContainsFunc(live, func(l engine.SIPMessage) bool { return l.Leg == m.Leg }) {
			out = append(out, m)
		}
	}
	return append(out, live...), nil
}

// SubmitResult implements http.Calls. A bot posts its result once: if it cannot be stored now, it
// is kept in the spool.
func (f *Front) SubmitResult(ctx context.Context, cmd campaign.SubmitResult) (later bool, err error) {
	if err = f.commands.SubmitResult(ctx, cmd); f.p.spool == nil || !deferred(err) {
		return false, err
	}
	if failed := f.p.spool.KeepResult(cmd); failed != nil {
		f.p.log.Error().Err(failed).Msg("a result was refused that could be neither stored nor kept")
		return false, journal.Unavailable(err)
	}
	return true, nil
}
