package sim

import (
	"fmt"

	"dialler/engine/campaign"
	"dialler/engine/tally"
)

// What is looked at from time to time, and at the end.

func (k *checker) auditLater() {
	k.w.push(auditEvery, simEvent{idle: true, f: func() {
		k.audit()
		k.auditLater()
	}})
}

// audit looks at what nobody may notice: attempts without an owner, seats that a paused
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
			len(t.attached) == 0 && len(r.contacts) == 0 &&
			t.granted > 0 {
			k.broke(c, "paused since %s, and keeps %d seats: asked for %d, %d busy", t.since, t.granted, r.state.Asked,
				r.state.Busy)
		}
	}
	open, _ := k.w.store.OpenAttempts(background)
	for i := range open {
		a := &open[i]
		c := k.w.byID[a.Campaign]
		if t := k.runs[c.i]; k.quiet(c) && k.w.now-t.begun[a.ID] > overdueAfter && k.w.process.owned[a.ID] == nil {
			k.broke(c, "attempt %s lives since %s, and nobody owns it", a.ID, t.begun[a.ID])
		}
	}
}

// length: the world ends though things may go on.
func (k *checker) length() {
	for _, c := range k.w.campaigns {
		t := k.runs[c.i]
		if t.state == campaign.Running && !k.w.row(c).Settings.AlwaysOn && k.w.open(c) == 0 && k.quiet(c) &&
			k.w.now-t.wrote > overdueAfter {
			k.broke(c, "running, and nobody is left to be dialled")
		}
	}
}

// end: nothing is left to happen.
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

// first describes a contact of the campaign that is not final.
func (k *checker) first(c *campaignRecord) string {
	k.w.store.Lock()
	defer k.w.store.Unlock()
	for x := range k.w.store.AllContacts() {
		if x.Campaign == c.id && x.Open() {
			return fmt.Sprintf("%s %s, due %v, attempt %q, result due %v, used %d of %d, run %d", x.ID, x.State, x.DueAt,
				x.Attempt, x.ResultDueAt, x.Used, x.Max, x.Run)
		}
	}
	return ""
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
	open := w.open(c)
	if s := r.state.M.C.State; row.State != s {
		k.broke(c, "stored as %s, is %s", row.State, s)
	}
	switch row.State {
	case campaign.Completed:
		if open > 0 {
			k.broke(c, "completed, and %d contacts are not final: %s", open, k.first(c))
		}
	case campaign.Running:
		if !row.Settings.AlwaysOn {
			k.broke(c, "running, and nothing will happen any more; %s", r.state.Pace.Last.Constraint)
		}
	case campaign.Draft, campaign.Paused, campaign.Failed:
	}
	stored, _ := w.store.Counters(background, c.id, row.Run)
	if diff := tally.Compare(stored, r.state.Tally.Counters()); len(diff) > 0 {
		k.broke(c, "the rows and the run count differently: %v", diff)
	}
	sum := 0
	for _, n := range stored.States {
		sum += n
	}
	if sum != stored.Total {
		k.broke(c, "total %d, sum of states %d", stored.Total, sum)
	}
	if w.in.Large {
		return
	}
	history := tally.Runs{}
	events, _ := w.store.Events(background, c.id, 0, 1<<30)
	for i := range events {
		history.Apply(&events[i])
	}
	if diff := tally.Compare(stored, history.Counters(row.Run)); len(diff) > 0 {
		k.broke(c, "the rows and the history count differently: %v", diff)
	}
	live, _ := w.store.OpenAttempts(background)
	for i := range live {
		if live[i].Campaign == c.id {
			k.broke(c, "attempt %s is left", live[i].ID)
		}
	}
	for id := range k.runs[c.i].begun {
		if n := k.runs[c.i].ends[id]; n != 1 {
			k.broke(c, "attempt %s ended %d times", id, n)
		}
	}
}
