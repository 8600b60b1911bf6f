package actors

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
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
	return engine.Unavailable("suppression_unconfirmed", "the suppression is stored and no new call to the number begins, but "+
		who+" did not confirm in time that none is on its way; send the request again", time.Second)
}

type (
	// whoDials asks for the campaigns' actors, also for those that are being stopped.
	whoDials struct{}
)

// Suppressed tells this node and all others of numbers that are on the suppression
// list now. nil: no INVITE leaves for them any more.
func (t *Tree) Suppressed(ctx context.Context, numbers []engine.PhoneNumber) error {
	return t.d.suppressed(ctx, numbers)
}

// SuppressedHere is Suppressed for this node alone.
func (t *Tree) SuppressedHere(ctx context.Context, numbers []engine.PhoneNumber) error {
	return t.d.suppressedHere(ctx, numbers)
}

func (d *deps) suppressed(ctx context.Context, numbers []engine.PhoneNumber) error {
	ctx, cancel := context.WithTimeout(ctx, suppressionWait)
	defer cancel()
	var others error
	var all sync.WaitGroup
	if d.member != nil {
		all.Go(func() { others = d.member.Suppressed(ctx, numbers) })
	}
	here := d.suppressedHere(ctx, numbers)
	all.Wait()
	switch {
	case here != nil:
		return here
	case others != nil:
		return errUnconfirmed(others.Error())
	}
	return nil
}

func (d *deps) suppressedHere(ctx context.Context, numbers []engine.PhoneNumber) error {
	m := &core.Suppressed{Numbers: make(map[engine.PhoneNumber]struct{}, len(numbers))}
	for _, n := range numbers {
		m.Numbers[n] = struct{}{}
	}
	pids, err := ask[[]*actor.PID](ctx, d, d.campaigns, &whoDials{})
	if err != nil {
		return errUnconfirmed("the node that was asked")
	}
	pids = append(pids, d.dialout)
	errs := make([]error, len(pids))
	var all sync.WaitGroup
	for i, pid := range pids {
		all.Go(func() { _, errs[i] = ask[any](ctx, d, pid, m) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil && d.stillDials(ctx, pids[i]) {
			return errUnconfirmed("a campaign or a call of the node that was asked")
		}
	}
	return nil
}

// stillDials: one that has stopped meanwhile dials nobody, and whoever takes its
// calls over reads the list.
func (d *deps) stillDials(ctx context.Context, pid *actor.PID) bool {
	pids, err := ask[[]*actor.PID](ctx, d, d.campaigns, &whoDials{})
	return err != nil || pid.Equal(d.dialout) || slices.ContainsFunc(pids, pid.Equal)
}

// suppressedBy follows a suppression that a call brought about and that is stored:
// tell, if any, hears whether everybody confirmed. Nobody may ask again, so that
// everybody is asked until they have.
func (d *deps) suppressedBy(n engine.PhoneNumber, tell func(error)) {
	go func() {
		for try := 1; ; try++ {
			err := d.suppressed(d.ctx, []engine.PhoneNumber{n})
			if tell != nil {
				tell(err)
				tell = nil
			}
			if err == nil || d.ctx.Err() != nil {
				return
			}
			d.log.Warn().Err(err).Int("try", try).Msg("a suppression was not confirmed")
			if try == suppressionTries {
				return
			}
			select {
			case <-d.ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
	}()
}

// suppressedCalls are the calls of which dialout awaits the word.
type suppressedCalls struct {
	replyTo *actor.PID
	awaited map[engine.AttemptID]struct{}
}

func (o *dialout) suppressed(ctx actor.Context, m *core.Suppressed, sender *actor.PID) {
	if len(o.calls) == 0 {
		reply(o.d, sender, nil, nil)
		return
	}
	o.opSeq++
	op := &suppressedCalls{sender, make(map[engine.AttemptID]struct{}, len(o.calls))}
	o.ops[o.opSeq] = op
	for id, pid := range o.calls {
		op.awaited[id] = struct{}{}
		ctx.Send(pid, &call.NumbersSuppressed{Numbers: m.Numbers, Op: o.opSeq})
	}
}

// suppressedCall notes that a call has confirmed, or is over: then for all.
func (o *dialout) suppressedCall(id engine.AttemptID, of func(op int) bool) {
	for n, op := range o.ops {
		if !of(n) {
			continue
		}
		if delete(op.awaited, id); len(op.awaited) == 0 {
			delete(o.ops, n)
			reply(o.d, op.replyTo, nil, nil)
		}
	}
}

// calleeLimit is how often one number may be called within a time.
type calleeLimit struct {
	attempts int
	period   time.Duration
}

// SetRules changes where calls may go, how often one number may be called within
// a time, as Config has them. It counts for the next intent to dial.
func (t *Tree) SetRules(countries []string, calleeCap int, calleePeriod time.Duration) {
	t.d.destinations.allow(countries)
	t.d.callee.Store(&calleeLimit{calleeCap, calleePeriod})
}
