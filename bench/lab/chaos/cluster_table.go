package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ClusterReport is what became of a cluster that was broken.
type ClusterReport struct {
	Report
	TakeOvers    []time.Duration // from a disturbance until somebody else had acquired a campaign
	HandOvers    []time.Duration // the same of a node that was drained
	Epochs       int             // acquisitions of campaigns
	ByNode       map[string]int  // INVITEs
	Channels     int             // the most calls at a time at the carrier
	PeakCPS      int             // the most INVITEs within a second
	Seats        int             // the most conversations at a time at the bot
	PeakAbandons float64         // per cent of live answers at any moment, capacity_loss aside
	// Of a lasting run:
	Moments     map[during]int // what a call was in when it was hit
	Again       map[string]int // answers to who asked for a second call to somebody
	Looks       int            // of the watcher
	Late        time.Duration  // the latest of them: how starved the machine was
	Talks, Long int            // conversations, and those of 90 s or more
	Unheard     int            // calls whose CANCEL or BYE changed nothing
	Ghosts      int            // of them, those that were there when their attempt had ended
	Overlaps    int
	room        room
}

func newClusterReport(seed uint64, r room) *ClusterReport {
	return &ClusterReport{Report: Report{Seed: seed, ByLabel: map[string]int{}, Acked: map[request]int{}},
		ByNode: map[string]int{}, Moments: map[during]int{}, Again: map[string]int{}, room: r}
}

// take adds what was judged of one campaign.
func (r *ClusterReport) take(one *run) {
	for k, n := range one.rep.Acked {
		r.Acked[k] += n
	}
	r.Unsure += one.rep.Unsure
	r.Rows += one.rep.Rows
	r.Events += one.rep.Events
	for _, f := range one.rep.Failures {
		r.fail("campaign %s: %s", one.id, f)
	}
}

// longest gives the greatest and the middle one.
func longest(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	all = slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%.1f s, %d of them, half within %.1f s",
		all[len(all)-1].Seconds(), len(all), all[len(all)/2].Seconds())
}

// Table gives the figures as Markdown.
func (r *ClusterReport) Table() string {
	var b strings.Builder
	row := func(what string, n any) { fmt.Fprintf(&b, "| %s | %v |\n", what, n) }
	fmt.Fprintf(&b, "Seed %d, %.1f minutes.\n\n| figure | |\n|---|---:|\n", r.Seed, r.Took.Minutes())
	disturbances := 0
	for _, n := range r.ByLabel {
		disturbances += n
	}
	row("disturbances", disturbances)
	row("longest take-over", longest(r.TakeOvers))
	row("longest hand-over of a drained node", longest(r.HandOvers))
	row("acquisitions of campaigns", r.Epochs)
	row("attempts", r.Attempts)
	row("legs in the database", r.Legs)
	row("Call-IDs at the carrier", r.CallIDs)
	for _, n := range slices.Sorted(maps.Keys(r.ByNode)) {
		row("of them placed by "+n, r.ByNode[n])
	}
	row("attempts lost", r.Lost)
	row("legs that were never sent", r.Unsent)
	row("answered calls lost before a bot served them", r.Abandons)
	row("abandons at most, of live answers, capacity_loss aside", fmt.Sprintf("%.2f %%", r.PeakAbandons))
	row(fmt.Sprintf("calls at a time at the carrier at most, of %d channels", r.room.channels), r.Channels)
	row(fmt.Sprintf("INVITEs within a second at most, of %d", r.room.cps), r.PeakCPS)
	row(fmt.Sprintf("conversations at a time at the bot at most, of %d seats", r.room.seats), r.Seats)
	for _, k := range slices.Sorted(maps.Keys(r.Acked)) {
		row("acknowledged: "+string(k), r.Acked[k])
	}
	row("of them first sent to a node that did not answer", r.Unsure)
	row("acknowledged results", r.Results)
	row("events folded and compared with the tables", r.Events)
	if r.Looks > 0 {
		row("conversations; of 90 s or more", fmt.Sprintf("%d; %d", r.Talks, r.Long))
		row("calls whose CANCEL or BYE changed nothing at the carrier", r.Unheard)
		row("of them on the line after their attempt's end", r.Ghosts)
		for _, m := range slices.Sorted(maps.Keys(r.Moments)) {
			row("disturbances "+string(m), r.Moments[m])
		}
		row("of all that wait for a moment, those for which none came in 10 s", r.Missed)
		for _, what := range slices.Sorted(maps.Keys(r.Again)) {
			row("second calls asked for to who has one: "+what, r.Again[what])
		}
		row("looks at what carrier, bot, database and nodes say", r.Looks)
		row("the latest of them, late by", r.Late.Round(10*time.Millisecond))
		row("**two calls to one number at a time**", fmt.Sprintf("**%d**", r.Overlaps))
	}
	row("**differences between the ledgers**", fmt.Sprintf("**%d**", len(r.Failures)))
	b.WriteString("\n| disturbance | times |\n|---|---:|\n")
	for _, k := range slices.Sorted(maps.Keys(r.ByLabel)) {
		row(k, r.ByLabel[k])
	}
	return b.String()
}
