package promise

import (
	"time"

	"dialler/engine/campaign"
)

// endGrace is how long after the durable end of a campaign an INVITE may leave whose intent was
// durable before.
const endGrace = time.Second

func (j *Judge) stands(row *campaign.Campaign) {
	c := j.course(row.ID)
	before := c.row
	c.row = *row
	if row.State == campaign.Running && before.State == campaign.Draft {
		c.ledgers[0] = ledger{} // a run begins
	}
	if before.ID != "" && before.Settings.Concurrency != row.Settings.Concurrency {
		c.edited = j.at
	}
	switch dials := row.State == campaign.Running || row.State == campaign.Paused; {
	case dials:
		c.rests = time.Time{}
	case c.rests.IsZero():
		c.rests = j.at
	}
	if c.most.run != row.Run {
		c.most = used{run: row.Run}
	}
	c.most.n = max(c.most.n, row.Settings.MaxAttempts)
}

// whileRunning checks that nobody is dialled for a campaign that is not running.
func (j *Judge) whileRunning(f Invited) {
	if c := j.campaigns[f.Campaign]; c != nil && !c.rests.IsZero() && j.at.Sub(c.rests) > endGrace {
		j.broke(f.Campaign, "an INVITE left while the campaign is %s: leg %s", c.row.State, f.Leg)
	}
}

// steady says that the wall clock was not stepped since an attempt's reservation.
func (j *Judge) steady(d *dial) bool {
	return j.stepped.IsZero() || d.reserved.Add(-time.Second).After(j.stepped) && !d.reserved.After(d.at)
}

// reservedBeforeThePause checks that nothing is reserved after the confirmation of a pause.
func (j *Judge) reservedBeforeThePause(d *dial, f Invited) {
	c := j.campaigns[d.Campaign]
	_, leg, _ := f.Leg.Attempt()
	if c == nil || c.paused.IsZero() || leg != 1 || !j.steady(d) {
		return
	}
	if d.reserved.After(c.paused) {
		j.broke(d.Campaign, "reserved for at %s, though the pause was confirmed at %s", d.reserved, c.paused)
	}
}

// withinTheWindow checks that nobody is dialled outside the calling window, nor after the end of a
// single-day campaign's window.
func (j *Judge) withinTheWindow(d *dial, f Invited) {
	c := j.campaigns[d.Campaign]
	_, leg, _ := f.Leg.Attempt()
	if c == nil || c.row.ID == "" || leg != 1 || !j.steady(d) {
		return
	}
	wall, row := j.wall(), &c.row
	if !row.Settings.Window.With(nil, nil).For(f.Home).Open(wall) { // calendars are no part of the row
		j.broke(d.Campaign, "%s is dialled outside the window, at %s", f.To, wall)
	}
	if end := row.WindowEndsAt; end != nil && !wall.Before(*end) {
		j.broke(d.Campaign, "%s is dialled after the single-day window", f.To)
	}
}
