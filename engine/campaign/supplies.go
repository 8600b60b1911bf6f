package campaign

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dialler/engine"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
)

// Names of resources.
const (
	ResourceSeats    = "seats"
	ResourceCPS      = "trunk_cps"
	ResourceChannels = "trunk_channels"
	ResourceNumbers  = "numbers"
)

// Resource is something that dials need: how much of it is in use, by all campaigns where it is
// shared. Out counts the units that cannot be used now, by reason.
type Resource struct {
	Resource string         `json:"resource"`
	Used     float64        `json:"used"`
	Of       float64        `json:"of"`
	Binding  bool           `json:"binding"`
	Out      map[string]int `json:"out"`
	Note     string         `json:"note,omitempty"` // Out in words
}

// Supplies are the current trunks and outbound numbers of the installation.
type Supplies struct {
	CPS      Resource                              // calls a second over the last 9 s, of what the usable trunks grant
	Channels Resource                              // their live legs, out of their channel caps
	Refuse   map[engine.PhoneNumber]numberpool.Cap // numbers that take no further dial now
}

// SuppliesOf summarises the configured trunks, and the numbers.
func SuppliesOf(trunks []trunk.Status, numbers map[engine.PhoneNumber]numberpool.Status) *Supplies {
	s := &Supplies{CPS: Resource{Resource: ResourceCPS, Out: map[string]int{}},
		Channels: Resource{Resource: ResourceChannels, Out: map[string]int{}},
		Refuse:   map[engine.PhoneNumber]numberpool.Cap{}}
	for i := range trunks {
		switch t := &trunks[i]; t.Health {
		case trunk.Up, trunk.Trying:
			s.CPS.Used += t.Placed
			s.CPS.Of += t.Rate
			s.Channels.Used += float64(t.Legs)
			s.Channels.Of += float64(t.Channels)
		case trunk.Unproven, trunk.Down, trunk.Broken, trunk.Held, trunk.Off:
			s.CPS.Out[string(t.Health)]++
			s.Channels.Out[string(t.Health)]++
		}
	}
	s.CPS.Used, s.CPS.Of = thousandths(s.CPS.Used), thousandths(s.CPS.Of)
	for n, status := range numbers {
		if status.Refuses != numberpool.CapNone {
			s.Refuse[n] = status.Refuses
		}
	}
	return s
}

func thousandths(f float64) float64 { return math.Round(f*1000) / 1000 }

// resources fills in what a running or paused campaign dials with, and marks the binding one.
func (l *Live) resources(c *Campaign, r *Reason) {
	if c.State != Running && c.State != Paused {
		return
	}
	seats := Resource{
		Resource: ResourceSeats,
		Used:     float64(max(l.Seats-l.FreeSeats, 0)),
		Of:       float64(l.Seats),
		Out:      map[string]int{},
	}
	l.Resources = []Resource{seats}
	if s := r.Supplies; s != nil {
		numbers := Resource{Resource: ResourceNumbers, Of: float64(len(c.Settings.Numbers)), Out: map[string]int{}}
		for _, n := range c.Settings.Numbers {
			if why := s.Refuse[n]; why != numberpool.CapNone {
				numbers.Used++
				numbers.Out[string(why)]++
			}
		}
		l.Resources = append(l.Resources, s.CPS, s.Channels, numbers)
	}
	for i := range l.Resources {
		l.Resources[i].Note = l.Resources[i].outWords()
	}
	if c.State != Running {
		return
	}
	name := map[engine.Constraint]string{
		engine.ConstraintSeats: ResourceSeats, engine.ConstraintConcurrency: ResourceSeats,
		engine.ConstraintTrunkCPS: ResourceCPS, engine.ConstraintTrunkChannels: ResourceChannels,
		engine.ConstraintTrunkHealth: ResourceChannels, engine.ConstraintNumberPool: ResourceNumbers}[r.Constraint]
	for i := range l.Resources {
		l.Resources[i].Binding = l.Resources[i].Resource == name
	}
}

// outWords says which units of a resource cannot be used now, and why: "2 resting, 1 at its cap of
// the day".
func (r *Resource) outWords() string {
	words := map[string]string{
		string(numberpool.CapState):      "quarantined or retired",
		string(numberpool.CapRest):       "resting",
		string(numberpool.CapConcurrent): "in as many calls as allowed",
		string(numberpool.CapHour):       "at the cap of the hour",
		string(numberpool.CapDay):        "at the cap of the day",
		string(numberpool.CapAway):       "counted by a node that does not answer",
		string(trunk.Off):                "switched off",
		string(trunk.Unproven):           "not heard from yet",
	}
	var list []string
	for _, why := range slices.Sorted(maps.Keys(r.Out)) {
		word := words[why]
		if word == "" {
			word = why
		}
		list = append(list, fmt.Sprintf("%d %s", r.Out[why], word))
	}
	return strings.Join(list, ", ")
}
