package actors

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	campaignactor "dialler/actors/campaign"
	"dialler/engine"
	core "dialler/engine/run"
)

// The database refuses a number from the moment it is on the suppression list. Calls in progress to
// it are told here: a waiting or ringing dial is cancelled, a conversation goes on. As after an
// exclusion, every actor concerned confirms that it sends no more INVITEs. A contact that waits for
// a dial becomes final.

const (
	// suppressionWait bounds the wait for all confirmations.
	suppressionWait = 5 * time.Second
	// suppressionTries is how often all are asked if no caller waits, or would ask again.
	suppressionTries = 5
)

// errUnconfirmed says which actors or nodes did not confirm a stored suppression.
func errUnconfirmed(who string) error {
	return engine.Unavailable("suppression_unconfirmed",
		"the suppression is stored and no new call to the number begins, but "+
			who+" did not confirm in time that none is on its way; send the request again", time.Second)
}

// Suppressed tells this node and all others of numbers that are now on the suppression list. nil
// means no more INVITEs leave for them.
func (t *Tree) Suppressed(ctx context.Context, numbers []engine.PhoneNumber) error {
	ctx, cancel := context.WithTimeout(ctx, suppressionWait)
	defer cancel()
	var others error
	var all sync.WaitGroup
	if t.member != nil {
		all.Go(func() { others = t.member.Suppressed(ctx, numbers) })
	}
	here := t.SuppressedHere(ctx, numbers)
	all.Wait()
	switch {
	case here != nil:
		return here
	case others != nil:
		return errUnconfirmed(others.Error())
	}
	return nil
}

// SuppressedHere is Suppressed for this node alone.
func (t *Tree) SuppressedHere(ctx context.Context, numbers []engine.PhoneNumber) error {
	m := &core.Suppressed{Numbers: make(map[engine.PhoneNumber]struct{}, len(numbers))}
	for _, n := range numbers {
		m.Numbers[n] = struct{}{}
	}
	pids, err := ask[[]*actor.PID](ctx, t, t.campaigns, &campaignactor.Dialling{})
	if err != nil {
		return errUnconfirmed("the node that was asked")
	}
	pids = append(pids, t.dialout)
	errs := make([]error, len(pids))
	var all sync.WaitGroup
	for i, pid := range pids {
		all.Go(func() { _, errs[i] = ask[any](ctx, t, pid, m) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil && t.stillDials(ctx, pids[i]) {
			return errUnconfirmed("a campaign or a call of the node that was asked")
		}
	}
	return nil
}

// stillDials says whether an actor may still dial: a stopped one does not, and the next owner of
// its calls reads the list.
func (t *Tree) stillDials(ctx context.Context, pid *actor.PID) bool {
	pids, err := ask[[]*actor.PID](ctx, t, t.campaigns, &campaignactor.Dialling{})
	return err != nil || pid.Equal(t.dialout) || slices.ContainsFunc(pids, pid.Equal)
}

// suppressedBy distributes a stored suppression that a call caused: tell, if set, is told whether
// all confirmed. No caller may ask again, so all are asked until they have.
func (t *Tree) suppressedBy(n engine.PhoneNumber, tell func(error)) {
	go func() {
		for try := 1; ; try++ {
			err := t.Suppressed(t.sys.Ctx, []engine.PhoneNumber{n})
			if tell != nil {
				tell(err)
				tell = nil
			}
			if err == nil || t.sys.Ctx.Err() != nil {
				return
			}
			t.sys.Log.Warn().Err(err).Int("try", try).Msg("a suppression was not confirmed")
			if try == suppressionTries {
				return
			}
			select {
			case <-t.sys.Ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}()
}
