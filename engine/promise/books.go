package promise

import (
	"fmt"

	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/tally"
)

// Books says where two counts of a campaign differ, naming each count.
func Books(name string, a campaign.Counters, other string, b campaign.Counters) (wrong []string) {
	for _, d := range tally.Compare(a, b) {
		wrong = append(wrong, fmt.Sprintf("%s: %s %s, %s %s", d.Figure, name, d.A, other, d.B))
	}
	return wrong
}

// Sums checks that the contacts' states add up to the total.
func Sums(c campaign.Counters) (wrong []string) {
	sum := 0
	for _, n := range c.States {
		sum += n
	}
	if sum != c.Total {
		wrong = append(wrong, fmt.Sprintf("Total is %d, the states of the contacts add up to %d", c.Total, sum))
	}
	return wrong
}

// Done checks a campaign that must be over: it is completed, every contact is final, and none is
// missing.
func Done(s campaign.State, c campaign.Counters) []string {
	wrong := Sums(c)
	if s != campaign.Completed {
		wrong = append(wrong, fmt.Sprintf("the campaign is %s", s))
	}
	for _, s := range contact.States {
		if x := (contact.Contact{State: s}); x.Open() && c.States[s] > 0 {
			wrong = append(wrong, fmt.Sprintf("%d contacts are %s", c.States[s], s))
		}
	}
	return wrong
}
