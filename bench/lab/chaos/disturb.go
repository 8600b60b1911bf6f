package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/site"
	"dialler/engine/journal"
)

// stepLimit is how long a disturbance waits for its step; then it is dealt at once.
const stepLimit = 10 * time.Second

// deal waits for a disturbance's moment and strikes.
func (r *run) deal(ctx context.Context, i int, b *disturbance) error {
	if b.kind != atStart {
		if err := r.proc.Ready(ctx); err != nil {
			return err
		}
	}
	if b.after > settleTime {
		if err := r.judgeLife(ctx); err != nil {
			return err
		}
	}
	from := r.proc.Started
	if from.Before(r.last) && b.kind != settled && b.kind != atStart {
		from = r.last
	}
	if err := site.Until(ctx, from.Add(b.after)); err != nil {
		return err
	}
	r.rep.ByLabel[b.label()]++
	if !b.kills() {
		r.rep.Faults++
		r.note(i, b)
		return r.fault(ctx, b)
	}
	r.rep.Kills++
	free, err := r.awaitStep(ctx, b)
	if err != nil {
		return err
	}
	if b.kind == withoutBase {
		if err := r.db.kill(); err != nil {
			return err
		}
		if err := site.Until(ctx, time.Now().Add(b.lasts)); err != nil {
			return err
		}
	}
	r.note(i, b)
	err = r.proc.Kill()
	free()
	if err != nil {
		return err
	}
	if err := site.Until(ctx, time.Now().Add(b.down)); err != nil {
		return err
	}
	if b.kind != withoutBase {
		return r.proc.Start()
	}
	if b.early {
		if err := r.proc.Start(); err != nil {
			return err
		}
		if err := site.Until(ctx, time.Now().Add(b.lasts)); err != nil {
			return err
		}
	}
	if err := r.db.start(ctx); err != nil {
		return err
	}
	return r.proc.Revive(ctx)
}

// awaitStep waits for the step of a kill; free lets go what is held at it.
func (r *run) awaitStep(ctx context.Context, b *disturbance) (free func(), err error) {
	free = func() {}
	since := time.Now()
	limit, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	switch b.kind {
	case atCommit:
		var met bool
		if free, met, err = r.catch(limit, b.point); err != nil || met {
			return free, err
		}
		r.rep.Missed++
		return free, nil
	case atCall:
		err = r.carrier.Ledger().Wait(limit, func(l carrier.Ledger) bool {
			for _, c := range l.Calls() {
				if b.step.at(&c).After(since) {
					return true
				}
			}
			return false
		})
	case atBot:
		err = r.bot.Wait(limit, func(m *bot.Bot) bool {
			for _, s := range m.Sessions() {
				if b.step.during(&s).After(since) {
					return true
				}
			}
			return false
		})
	default:
		return free, nil
	}
	if ctx.Err() != nil {
		return free, ctx.Err()
	}
	if err != nil {
		r.rep.Missed++
	}
	return free, site.Until(ctx, time.Now().Add(b.delay))
}

// catch waits for a transaction at a moment, and holds it there until free is
// called; it is lost then. met is false when none came in time.
func (r *run) catch(ctx context.Context, p point) (free func(), met bool, err error) {
	t := r.wire.arm(p.mark, p.moment)
	switch journal.Type(p.mark) { // does not come of itself, or seldom
	case journal.ContactTriggered:
		r.crm.hurry(askTrigger)
	case journal.ContactExcluded:
		r.crm.hurry(askExclude)
	case journal.ContactsAdded:
		r.crm.hurry(askImport)
	default:
	}
	free = func() { close(t.free) }
	select {
	case <-t.met:
		return free, true, nil
	case <-ctx.Done():
	}
	if r.wire.disarm(t) {
		return func() {}, false, nil
	}
	select { // caught, but its moment has not come yet
	case <-t.met:
		return free, true, nil
	case <-time.After(stepLimit):
		return free, false, fmt.Errorf("a transaction of %s did not end", p)
	}
}

// fault does to the dialler what it must live through.
func (r *run) fault(ctx context.Context, b *disturbance) error {
	life := r.proc.Life
	var err error
	switch b.kind {
	case cutCommit:
		var free func()
		var met bool
		limit, cancel := context.WithTimeout(ctx, stepLimit)
		free, met, err = r.catch(limit, b.point)
		cancel()
		free()
		if !met {
			r.rep.Missed++
		}
	case slowCommits:
		r.wire.delay(slowCommit)
		err = site.Until(ctx, time.Now().Add(b.lasts))
		r.wire.delay(0)
	case frozen:
		thaw := r.wire.freeze()
		err = site.Until(ctx, time.Now().Add(b.lasts))
		thaw()
	case killBackend:
		err = r.db.killBackend(ctx)
	case killDatabase:
		if err = r.db.kill(); err == nil {
			err = site.Until(ctx, time.Now().Add(b.lasts))
		}
		if err == nil {
			err = r.db.start(ctx)
		}
	case pausedEngine:
		if err = r.proc.Pause(); err == nil {
			r.pauses = append(r.pauses, time.Now())
			err = site.Until(ctx, time.Now().Add(b.lasts))
		}
		err = errors.Join(err, r.proc.Resume())
	default:
		err = fmt.Errorf("%s is no fault", b.kind)
	}
	if err != nil {
		return err
	}
	return r.recovered(ctx, b, life)
}

// slowCommit is how much longer a slow COMMIT takes.
const slowCommit = 200 * time.Millisecond

// recoverLimit is how long the dialler may take until it works again after a
// fault is over.
const recoverLimit = 20 * time.Second

// recovered waits until the dialler commits again, in the same life: the CRM's
// next request is acknowledged.
func (r *run) recovered(ctx context.Context, b *disturbance, life int) error {
	limit, cancel := context.WithTimeout(ctx, recoverLimit)
	defer cancel()
	before := r.crm.progress()
	err := site.Poll(limit, 20*time.Millisecond, func() (bool, error) {
		if !r.proc.Alive() {
			return false, fmt.Errorf("life %d ended of %s (%w); %s", life, b, r.proc.Exit(), r.proc.Tail())
		}
		return r.crm.progress() > before, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		r.rep.fail("%s: no request was acknowledged within %v of its end", b, recoverLimit)
		return nil
	}
	return err
}

// note keeps what the carrier saw at the moment of a disturbance.
func (r *run) note(i int, b *disturbance) {
	r.noteDisturbance(fmt.Sprintf("disturbance %d of seed %d, life %d aged %v: %s", i+1, r.cfg.Seed, r.proc.Life,
		time.Since(r.proc.Started).Round(10*time.Millisecond), b))
}

func (r *run) noteDisturbance(what string) {
	n := map[carrier.State]int{}
	for _, c := range r.carrier.Ledger().Live() {
		n[c.State]++
	}
	line := fmt.Sprintf("%s; %d trying, %d ringing, %d answered at the carrier",
		what, n[carrier.StateTrying], n[carrier.StateRinging], n[carrier.StateAnswered])
	r.rep.Blows = append(r.rep.Blows, line)
	r.log("%s", line)
}
