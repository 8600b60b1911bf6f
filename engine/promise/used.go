package promise

// used is the number of attempts used in a run.
type used struct{ run, n int }

// usedBy is what a contact, at whichever of its numbers, has used since it was given its attempts.
type usedBy struct {
	used
	renewals int // of the judge, when the last one was counted
}

// renewed notes that whoever is called at a number is called anew, with fresh attempts.
func (j *Judge) renewed(p *standing) {
	j.renewals++
	p.renewed = j.renewals
}

// usedBy is what the contact of a dial has used.
func (j *Judge) usedBy(d *dial) *usedBy {
	u := j.spent[d.Contact]
	if u == nil {
		u = &usedBy{}
		j.spent[d.Contact] = u
	}
	if p := j.people[person{d.Campaign, d.To}]; u.run != d.Run || p != nil && p.renewed > u.renewals {
		u.used = used{run: d.Run}
	}
	return u
}

// attemptsLeft checks that nobody is dialled who has used all attempts of the run, and one for a
// callback.
func (j *Judge) attemptsLeft(d *dial, f Invited) {
	if _, leg, _ := f.Leg.Attempt(); leg != 1 || d.Contact == "" {
		return
	}
	if u, c := j.usedBy(d), j.course(d.Campaign); u.n > c.most.n {
		j.broke(d.Campaign, "contact %s has used %d attempts of %d and is dialled", d.Contact, u.n, c.most.n)
	}
}

// used counts an attempt that was consumed.
func (j *Judge) used(d *dial) {
	if d.Contact == "" {
		return
	}
	u, c := j.usedBy(d), j.course(d.Campaign)
	u.renewals = j.renewals
	if u.n++; c.most.run == d.Run && u.n > c.most.n+1 {
		j.broke(d.Campaign, "attempt %d of contact %s, of %d and a callback", u.n, d.Contact, c.most.n)
	}
}
