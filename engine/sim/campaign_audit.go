package sim

import (
	"strings"

	"dialler/engine/campaign"
	"dialler/engine/promise"
	"dialler/engine/tally"
)

// Checks from time to time, and at the end.

func (k *checker) auditLater() {
	k.w.push(auditEvery, simEvent{idle: true, f: func() {
		k.audit()
		k.auditLater()
	}})
}

// audit checks for faults that nobody may notice: attempts without an owner, seats that a paused
// campaign keeps.
func (k *checker) audit() {
	if k.w.in.Large {
		return
	}
	for _, c := range k.w.campaigns {
		t, r := k.runs[c.i], k.w.runner(c)
		if r == nil || !k.quiet(c) {
			continue
		}
		if t.state == campaign.Paused && t.asked == 0 && k.w.now-t.wrote > overdueAfter &&
			len(t.attached) == 0 && len(r.contacts) == 0 && t.granted > 0 {
			k.broke(c, "paused since %s, and keeps %d seats: asked for %d, %d busy", t.since, t.granted, r.state.Asked,
				r.state.Busy)
		}
	}
	for _, c := range k.w.campaigns {
		t := k.runs[c.i]
		row := k.w.row(c)
		if row.State != campaign.Running || !k.quiet(c) || k.w.runner(c) == nil || k.w.now-k.steppedAt <= overdueAfter {
			t.expired = ""
			continue
		}
		// One that had expired before it came, by an import or a restart, has as long as others.
		late, _, _ := k.w.store.Expired(background, c.id, row.Run, k.w.wall().Add(-overdueAfter), 1)
		switch {
		case len(late) == 0:
			t.expired = ""
		case t.expired != late[0].ID:
			t.expired, t.expiredSeen = late[0].ID, k.w.now
		case k.w.now-t.expiredSeen > overdueAfter:
			k.broke(c, "%s expired at %s, and is %s", late[0].ID, late[0].ExpiresAt, late[0].State)
		}
	}
	open, _ := k.w.store.OpenAttempts(background)
	for i := range open {
		a := &open[i]
		c := k.w.byID[a.Campaign]
		if k.quiet(c) && k.w.process.owned[a.ID] == nil {
			k.broke(c, "attempt %s has been live since %s, and nobody owns it", a.ID, a.ReservedAt)
		}
	}
}

// length ends the world although things may still be in progress.
func (k *checker) length() {
	for _, c := range k.w.campaigns {
		t := k.runs[c.i]
		if t.state == campaign.Running && !k.w.row(c).Settings.AlwaysOn && k.w.open(c) == 0 && k.quiet(c) &&
			k.w.now-t.wrote > overdueAfter {
			k.broke(c, "running, and nobody is left to be dialled")
		}
	}
}

// end handles a world in which nothing is left to happen.
func (k *checker) end() {
	w := k.w
	if w.process == nil || len(w.process.writer.queue) > 0 {
		return
	}
	if n := len(w.legs); n > 0 {
		k.broke(nil, "%d legs are left on the network", n)
	}
	for _, t := range w.process.trunks {
		if t.Held() != 0 {
			k.broke(nil, "%d channels of %s are left: %v", t.Held(), t.Settings().ID, t.Legs())
		}
	}
	for _, s := range w.process.slots {
		if s.Held() != 0 {
			k.broke(nil, "%d slots of %s are left: %v", s.Held(), s.Settings().Number, s.Attempts())
		}
	}
	for _, c := range w.campaigns {
		k.endOf(c)
	}
	if o := w.process.callsIn; o != nil && len(o.calls)+len(o.came.Of) > 0 {
		k.broke(nil, "%d calls that came in are left at work, %d are not decided", len(o.calls), len(o.came.Of)-len(o.calls))
	}
	if !w.in.Large {
		k.judge.End()
	}
	k.heard()
	w.store.Lock()
	defer w.store.Unlock()
	for n, h := range w.store.Holds {
		if h.Until.IsZero() {
			k.broke(nil, "the hold of %s is left", n)
		}
	}
	if n := w.process.fleet.Granted(); n != 0 {
		k.broke(nil, "%d seats are left", n)
	}
}

func (k *checker) endOf(c *campaignRecord) {
	w, row, r := k.w, k.w.row(c), k.w.runner(c)
	if r == nil || !r.state.Ready {
		k.broke(c, "its run did not come up")
		return
	}
	if n := len(r.contacts); n > 0 {
		k.broke(c, "%d contacts are left at work", n)
	}
	if s := r.state.M.C.State; row.State != s {
		k.broke(c, "stored as %s, is %s", row.State, s)
	}
	stored, _ := w.store.Counters(background, c.id, row.Run)
	wrong := append(promise.Sums(stored), promise.Books("the rows", stored, "the run", r.state.Tally.Counters())...)
	switch row.State {
	case campaign.Completed:
		wrong = append(wrong, promise.Done(row.State, stored)...)
	case campaign.Running:
		if !row.Settings.AlwaysOn {
			k.broke(c, "running, and nothing will happen any more; %s", r.state.Pace.Last.Constraint)
		}
	case campaign.Draft, campaign.Paused, campaign.Failed:
	}
	if len(wrong) > 0 {
		k.broke(c, "%s", strings.Join(wrong, "; "))
	}
	if w.in.Large {
		return
	}
	history := tally.Runs{}
	events, _ := w.store.Events(background, c.id, 0, 1<<30)
	for i := range events {
		history.Apply(&events[i])
	}
	if wrong := promise.Books("the rows", stored, "the history", history.Counters(row.Run)); len(wrong) > 0 {
		k.broke(c, "%s", strings.Join(wrong, "; "))
	}
}
