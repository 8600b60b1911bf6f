package promise

// used is the number of attempts used in a run.
type used struct{ run, n int }

// attemptsLeft checks that nobody is dialled who has used all attempts of the run, and one for a
// callback.
func (j *Judge) attemptsLeft(d *dial, f Invited) {
	p := j.people[person{d.Campaign, d.To}]
	if _, leg, _ := f.Leg.Attempt(); leg != 1 || p == nil || p.used.run != d.Run || d.Contact == "" {
		return
	}
	if c := j.course(d.Campaign); p.used.n > c.most.n {
		j.broke(d.Campaign, "contact %s has used %d attempts of %d and is dialled", d.Contact, p.used.n, c.most.n)
	}
}

// used counts an attempt that was consumed.
func (j *Judge) used(d *dial) {
	if d.Contact == "" {
		return
	}
	u, c := &j.person(d.Campaign, d.To).used, j.course(d.Campaign)
	if u.run != d.Run {
		*u = used{run: d.Run}
	}
	if u.n++; c.most.run == d.Run && u.n > c.most.n+1 {
		j.broke(d.Campaign, "attempt %d of contact %s, of %d and a callback", u.n, d.Contact, c.most.n)
	}
}
