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

// A number that was put on the suppression list is refused by the database from
// then on. What was under way to it is told here: a dial that waits or rings is
// cancelled, a conversation is left alone. As after an exclusion, everybody
// concerned confirms that no INVITE of theirs leaves any more. A contact that waits
// for a dial is final.

const (
	// suppressionWait bounds how long one waits for everybody's word.
	suppressionWait = 5 * time.Second
	// suppressionTries is how often everybody is asked when nobody outside waits,
	// or asks again.
	suppressionTries = 5
)

// errUnconfirmed says who did not confirm a suppression that is stored.
func errUnconfirmed(who string) error {
	return engine.Unavailable("suppression_unconfirmed",
		"the suppression is stored and no new call to the number begins, but "+
			who+" did not confirm in time that none is on its way; send the request again", time.Second)
}

// Suppressed tells this node and all others of numbers that are on the suppression
// list now. nil: no INVITE leaves for them any more.
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

// stillDials: one that has stopped meanwhile dials nobody, and whoever takes its
// calls over reads the list.
func (t *Tree) stillDials(ctx context.Context, pid *actor.PID) bool {
	pids, err := ask[[]*actor.PID](ctx, t, t.campaigns, &campaignactor.Dialling{})
	return err != nil || pid.Equal(t.dialout) || slices.ContainsFunc(pids, pid.Equal)
}

// suppressedBy follows a suppression that a call brought about and that is stored:
// tell, if any, hears whether everybody confirmed. Nobody may ask again, so that
// everybody is asked until they have.
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
