package chaos

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/promise"
)

// closeLimit is how long a life may take until it has closed the attempts of those
// before, on a machine that is busy.
const closeLimit = 30 * time.Second

// closed waits until no attempt of an earlier life is open.
func (r *run) closed(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	err := site.Poll(limit, 20*time.Millisecond, func() (done bool, err error) {
		err = witness(limit, func(ctx context.Context) error {
			open, err := r.store.OpenAttempts(ctx)
			done = !slices.ContainsFunc(open, func(a attempt.Attempt) bool {
				return a.ReservedAt != nil && a.ReservedAt.Before(r.proc.Started)
			})
			return err
		})
		return done, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		r.rep.fail("life %d: attempts of an earlier life are open %v after it was up", r.proc.Life, closeLimit)
		return nil
	}
	return err
}

// judgeLife waits until this life has closed the attempts of those before and
// five seconds have gone by, once, and compares what rings and talks at the carrier with what the dialler owns.
func (r *run) judgeLife(ctx context.Context) error {
	if r.judged == r.proc.Life {
		return nil
	}
	r.judged = r.proc.Life
	if err := r.closed(ctx); err != nil {
		return err
	}
	if err := site.Until(ctx, time.Now().Add(settleTime)); err != nil {
		return err
	}
	r.rep.Judged++
	// A call that begins or ends between the looks is in one of them only; an
	// intent is stored before its INVITE leaves, an end after it has come.
	before := map[string]bool{}
	for _, c := range r.carrier.Ledger().Live() {
		before[c.CallID] = true
	}
	owned, err := r.openLegs(ctx)
	if err != nil {
		return err
	}
	for _, c := range r.carrier.Ledger().Live() {
		if !before[c.CallID] {
			continue
		}
		switch _, ok := owned[c.CallID]; {
		case !ok:
			r.rep.fail("life %d: %v after it had closed them call %s is %s at the carrier "+
				"(invited %v before its start) and no live leg of the dialler",
				r.proc.Life, settleTime, c.CallID, c.State, r.proc.Started.Sub(c.InviteAt).Round(time.Millisecond))
		case c.InviteAt.Before(r.proc.Started):
			r.rep.fail("life %d: %v after it had closed them call %s of an earlier life is %s at the carrier",
				r.proc.Life, settleTime, c.CallID, c.State)
		}
	}
	return nil
}

// judge compares the ledgers once the campaign has ended: what a life knows,
// then, in a life that was asked to end and began anew, what is stored.
func (r *run) judge(ctx context.Context) error {
	figures, err := r.leases(ctx)
	if err != nil {
		return err
	}
	calls := r.carrier.Ledger().Calls()
	r.judgeCarrier(calls)
	r.judgeFigures(calls, figures)
	if err := r.unwatched(ctx); err != nil {
		return err
	}
	if err := errors.Join(r.proc.Stop(), r.proc.Start(), r.proc.Ready(ctx)); err != nil {
		return err
	}
	if err := r.connect(ctx); err != nil { // its private database went with it
		return err
	}
	attempts, err := r.store.Lists.CampaignAttempts(ctx, r.id)
	if err != nil {
		return err
	}
	outs, err := r.store.Dialouts(ctx, 10_000)
	if err != nil {
		return err
	}
	for i := range outs {
		if at := outs[i].ReservedAt; at != nil && at.After(r.began) {
			attempts = append(attempts, outs[i])
		}
	}
	r.judgeLegs(calls, attempts)
	if err := r.judgeCounters(ctx); err != nil {
		return err
	}
	r.judgeBot(attempts)
	r.judgeTries(calls)
	if err := r.judgeCRM(ctx, calls); err != nil {
		return err
	}
	r.record.attempts(attempts)
	r.record.calls(calls, r.began)
	r.conversations(&r.record, attempts, r.began, seats)
	if err := r.noteCampaign(ctx, &r.record, r.id); err != nil {
		return err
	}
	r.record.Add(time.Time{}, promise.TrunkCaps{Trunk: trunkID, CPS: labCPS, Channels: labChannels, Within: cpsWindow})
	r.record.judged(r.rep.fail, false)
	if n := len(r.carrier.Ledger().Calls()); n != len(calls) {
		r.rep.fail("%d calls were placed after the campaign's end", n-len(calls))
	}
	return r.judgeEvents(ctx)
}

// unwatched waits until no leg of a lost call is watched any more.
func (r *run) unwatched(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return site.Poll(limit, 100*time.Millisecond, func() (bool, error) {
		open, err := r.store.OpenLegs(limit)
		return len(open) == 0, err
	})
}

// judgeTries: nobody who was not triggered again is called more often than the
// campaign's attempts.
func (r *run) judgeTries(calls carrier.Rows) {
	free := map[engine.PhoneNumber]bool{}
	for i := range r.crm.acked {
		if a := &r.crm.acked[i]; a.kind == askMerge {
			free[engine.PhoneNumber(a.numbers[0])] = true
		}
	}
	n := map[engine.PhoneNumber]int{}
	for i := range calls {
		if !calls[i].InviteAt.Before(r.began) {
			n[calls[i].Number]++
		}
	}
	for _, to := range slices.Sorted(maps.Keys(n)) {
		if n[to] > maxAttempts && !free[to] {
			r.rep.fail("a number was called %d times, which has %d attempts", n[to], maxAttempts)
		}
	}
}

// judgeEvents: what the history adds up to is what the tables say.
func (r *run) judgeEvents(ctx context.Context) error {
	a, err := r.store.Records.Audit(ctx, r.id)
	if err != nil {
		return err
	}
	r.rep.Events = a.Events
	for _, run := range a.Runs {
		for _, x := range run.Differences {
			r.rep.fail("audit, run %d: %s: events %s, tables %s", run.Run, x.Figure, x.A, x.B)
		}
	}
	return nil
}

// leaseLimit is a dialout's ring time-out, and what follows it.
const leaseLimit = 45 * time.Second

// leases waits until everything that was leased is back: the last BYEs are
// answered, and the last CANCELs of lost calls, a moment after the end.
func (r *run) leases(ctx context.Context) (map[string]float64, error) {
	limit, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	held := []string{"dialler_live_calls", "dialler_seats_held", "dialler_trunk_channels_held",
		"dialler_number_slots_held", "dialler_sip_legs_live"}
	var figures map[string]float64
	err := site.Poll(limit, 100*time.Millisecond, func() (bool, error) {
		now, err := r.api.Figures(limit)
		if err != nil {
			return false, err
		}
		figures = now
		for _, name := range held {
			if figures[name] != 0 {
				return false, nil
			}
		}
		return len(r.carrier.Ledger().Live()) == 0, nil
	})
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return figures, err
	}
	for _, name := range held {
		if figures[name] != 0 {
			r.rep.fail("%s is %v after the end", name, figures[name])
		}
	}
	for _, c := range r.carrier.Ledger().Live() {
		r.rep.fail("call %s is still %s at the carrier", c.CallID, c.State)
	}
	return figures, nil
}

// pausedIn says whether the dialler was stopped at some moment of a span.
func (r *run) pausedIn(from, to time.Time) bool {
	return slices.ContainsFunc(r.pauses, func(at time.Time) bool {
		return at.Before(to) && at.Add(r.cfg.Pause).After(from)
	})
}

// judgeCarrier: what the carrier alone can tell, over all calls so far.
func (r *run) judgeCarrier(calls carrier.Rows) {
	for _, d := range calls.DuplicateInvites() {
		r.rep.fail("Call-ID %s was dialled twice: %s", d.CallID, d.Why)
	}
	for i := range calls {
		c := &calls[i]
		if c.InviteAt.Before(r.began) {
			continue
		}
		if c.AckMissing && !r.pausedIn(c.AnsweredAt, c.AnsweredAt.Add(deafLimit)) {
			r.rep.fail("call %s was never acknowledged", c.CallID)
		}
		for _, v := range c.Violations {
			if v != cancelOfOther {
				r.rep.fail("call %s: breach of the SIP rules: %s", c.CallID, v)
			}
		}
	}
}

// cancelOfOther: the next life does not know whether the INVITE of the one
// before was challenged, and cancels both numbers that it may have had.
const cancelOfOther = "cancel_of_other_transaction"

// clockGrain is how far the wall clock, by which the send-by time is stored, may
// be from the boot-time clock, by which it is checked.
const clockGrain = 100 * time.Millisecond

// judgeLegs: the database against the carrier.
func (r *run) judgeLegs(calls carrier.Rows, attempts []attempt.Attempt) {
	atCarrier := map[string]*carrier.Call{}
	for i := range calls {
		if !calls[i].InviteAt.Before(r.began) {
			atCarrier[calls[i].CallID] = &calls[i]
		}
	}
	r.rep.CallIDs = len(atCarrier)
	r.rep.Attempts = len(attempts)
	for i := range attempts {
		a := &attempts[i]
		if a.Cause == engine.AbandonCapacityLoss {
			r.rep.Abandons++
		}
		lost := a.Outcome == engine.OutcomeLost || a.Cause == engine.AbandonCapacityLoss
		if lost {
			r.rep.Lost++
		}
		for j := range a.Legs {
			leg := &a.Legs[j]
			r.rep.Legs++
			c := atCarrier[string(leg.ID)]
			switch {
			case c != nil:
				if late := leftAt(c).Sub(a.SendBy); late > clockGrain {
					r.rep.fail("the INVITE of leg %s left %v after its send-by time", leg.ID, late)
				}
			case leg.SentAt == nil:
				r.rep.Unsent++
			case !lost:
				r.rep.fail("leg %s (%s) was sent and the carrier does not know it", leg.ID, a.Outcome)
			}
		}
	}
}

// judgeFigures: /metrics counts one life of the process. What one before sent a
// moment before its end the carrier may read in this one.
func (r *run) judgeFigures(calls carrier.Rows, figures map[string]float64) {
	life := 0
	for i := range calls {
		if leftAt(&calls[i]).After(r.proc.Started) {
			life++
		}
	}
	if n := int(figures["dialler_legs_sent_total"]); n != life {
		r.rep.fail("/metrics counts %d legs that were sent, the carrier %d Call-IDs in this life", n, life)
	}
	if n := figures["dialler_illegal_events_total"]; n != 0 {
		r.rep.fail("%v events were refused by a state machine", n)
	}
	if n := figures["dialler_actor_restarts_total"]; n != 0 {
		r.rep.fail("%v actors panicked", n)
	}
}

// judgeCounters: what the campaign shows against its tables.
func (r *run) judgeCounters(ctx context.Context) error {
	var d detail
	if err := r.detail(ctx, &d); err != nil {
		return err
	}
	c := d.Counters
	for _, wrong := range promise.Done(d.Status, c) {
		r.rep.fail("%s", wrong)
	}
	want := r.crm.listed + len(r.crm.fresh)
	for i := range r.crm.files {
		n, err := r.stored(ctx, &r.crm.files[i])
		if err != nil {
			return err
		}
		want += n
	}
	if c.Total != want {
		r.rep.fail("%d contacts were given, Total is %d", want, c.Total)
	}
	t, err := r.store.Counters(ctx, r.id, 1)
	if err != nil {
		return err
	}
	c.Passes, c.Callbacks, c.TalkMS = t.Passes, t.Callbacks, t.TalkMS // which are not shown with the counters
	for _, wrong := range promise.Books("the campaign shows", c, "the tables give", t) {
		r.rep.fail("counter %s", wrong)
	}
	return nil
}

func final(s contact.State) bool {
	switch s {
	case contact.Pending, contact.Waiting, contact.Connected:
		return false
	default:
		return true
	}
}

// judgeBot: no call came twice, and every acknowledged result is stored.
func (r *run) judgeBot(attempts []attempt.Attempt) {
	byCall := map[engine.CallID]*attempt.Attempt{}
	for i := range attempts {
		byCall[attempts[i].ID.Call()] = &attempts[i]
	}
	seen := map[engine.CallID]bool{}
	for _, s := range r.bot.Sessions() {
		a := byCall[s.CallID]
		if a == nil {
			if s.OpenedAt.After(r.began) && s.CallID != "" {
				r.rep.fail("the bot had call %s, which is no attempt of the campaign", s.CallID)
			}
			continue
		}
		if seen[s.CallID] {
			r.rep.fail("call %s reached the bot twice", s.CallID)
		}
		seen[s.CallID] = true
		for name := range s.Violations {
			if name == "mark_late" && r.stood != nil && r.stood(&s) {
				continue
			}
			r.rep.fail("call %s: breach of the bot's protocol: %s", s.CallID, name)
		}
		switch s.Result.State {
		case bot.ReportTaken:
			r.rep.Results++
			if a.Result == nil || a.Result.Disposition != s.Result.Disposition {
				r.rep.fail("the result of call %s was acknowledged and is not stored", s.CallID)
			}
		case bot.ReportRefused, bot.ReportGivenUp:
			r.rep.fail("the result of call %s (%s) was not taken: %s, status %d %s",
				s.CallID, a.Outcome, s.Result.State, s.Result.Status, s.Result.Error)
		case bot.ReportNone, bot.ReportPending:
		}
	}
}
