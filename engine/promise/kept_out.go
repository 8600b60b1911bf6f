package promise

import (
	"time"

	"dialler/engine"
)

// keptOut checks that from the confirmation on no call leaves to a number excluded from the
// campaign, and none at all to a suppressed one.
func (j *Judge) keptOut(f Invited) {
	if p := j.people[person{f.Campaign, f.To}]; p != nil && p.excluded {
		j.broke(f.Campaign, "%s is excluded and is dialled: leg %s", f.To, f.Leg)
	}
	if j.listed[f.To] {
		j.broke(f.Campaign, "%s is suppressed and is dialled: leg %s", f.To, f.Leg)
	}
}

// excluded notes an exclusion, unless it was undone after it was requested.
func (j *Judge) excluded(f Excluded) {
	p := j.person(f.Campaign, f.Number)
	p.excluded = p.excluded || p.adding == 0 && (p.added.IsZero() || p.added.Before(f.Asked))
}

func (j *Judge) adding(c engine.CampaignID, n engine.PhoneNumber, by int) {
	p := j.person(c, n)
	*p = standing{adding: p.adding + by, added: j.at}
	j.renewed(p)
}

// within keeps those times of a sorted list that are less than d ago.
func within(d time.Duration, list []time.Time, now time.Time) []time.Time {
	for len(list) > 0 && now.Sub(list[0]) >= d {
		list = list[1:]
	}
	return list
}
