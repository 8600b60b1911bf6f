package evidence

import (
	"encoding/json"
	"math"
	"time"

	"dialler/engine/journal"
)

// capField is the setting of the abandon cap in the changes of an event: a percentage.
const capField = "abandon_cap_pct"

// Cap is an abandon cap, from the event that set it on.
type Cap struct {
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	PPM int       `json:"abandon_cap_ppm"`
	// AfterRun says that the run was over by then.
	AfterRun bool `json:"after_the_run,omitempty"`
}

// capAt is the cap in force at an event; without caps it is that of the settings.
func capAt(caps []Cap, ppm int, seq int64) int {
	for i := range caps {
		if i > 0 && caps[i].Seq > seq {
			break
		}
		ppm = caps[i].PPM
	}
	return ppm
}

// capsOf folds the abandon caps of a run from the events of the rules, and returns the one that was in
// force at the end of the run. Where no event tells, it is that of the settings.
func capsOf(r *Rules, run int) (ppm int, caps []Cap) {
	ppm = r.Settings.AbandonCapPPM
	known, ended := false, false
	for i := range r.Changes {
		e := &r.Changes[i]
		if e.Run > run {
			break
		}
		if now, ok := capOf(e); ok && (!known || now != caps[len(caps)-1].PPM) {
			c := Cap{Seq: e.Seq, At: e.At, PPM: now, AfterRun: ended}
			if e.Run < run {
				caps = caps[:0] // only the last of them reached the run
			}
			caps, known = append(caps, c), true
			if !ended {
				ppm = now
			}
		}
		switch e.Type { //nolint:exhaustive // what ends a run
		case journal.CampaignCompleted, journal.CampaignStopped, journal.CampaignFailed:
			ended = e.Run == run
		case journal.CampaignStarted, journal.CampaignResumed:
			ended = false
		}
	}
	return ppm, caps
}

// capOf is the cap that an event set.
func capOf(e *RuleChange) (ppm int, ok bool) {
	if e.Settings != nil {
		return e.Settings.AbandonCapPPM, true
	}
	for _, c := range e.Changes {
		var percent float64
		if c.Field == capField && json.Unmarshal(c.To, &percent) == nil {
			return int(math.Round(percent * 10_000)), true
		}
	}
	return 0, false
}

func (c Cap) equal(d Cap) bool {
	return c.Seq == d.Seq && c.At.Equal(d.At) && c.PPM == d.PPM && c.AfterRun == d.AfterRun
}

// caps compares the caps of the rules with the events of the run that set them.
func (v *Verdict) caps(rules *Rules) {
	for i := range rules.Changes {
		e := &rules.Changes[i]
		if i == 0 { // older ones may have been left out
			for seq := range v.set {
				if seq < e.Seq {
					delete(v.set, seq)
				}
			}
		}
		ppm, ok := capOf(e)
		if !ok || e.Run != v.Manifest.Run {
			continue
		}
		if have, there := v.set[e.Seq]; !there || have != ppm {
			v.wrong("%s has an abandon cap of event %d that the event does not have", RulesFile, e.Seq)
		}
		delete(v.set, e.Seq)
	}
	for seq := range v.set {
		v.wrong("%s does not have the abandon cap of event %d", RulesFile, seq)
	}
}
