package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/run"
)

// hours is what the installation learns of the hours at which people answer.
type hours struct {
	learning, learned besthour.Table
	noted             map[engine.AttemptID]struct{}
}

// learnEvery is the interval at which the runs are told.
const learnEvery = time.Hour

// learn notes an attempt that ended.
func (h *hours) learn(a *attempt.Attempt) {
	told, answered := besthour.Told(a.Outcome)
	if _, again := h.noted[a.ID]; h.noted == nil || again || a.Live() || !told || a.InviteAt == nil {
		return
	}
	h.noted[a.ID] = struct{}{}
	h.learning.Note(a.To, *a.InviteAt, answered)
}

// learns tells the runs what was learned, from time to time, if a campaign has the option.
func (w *campaignWorld) learns() {
	if !slices.ContainsFunc(w.in.Campaigns, func(p CampaignPlan) bool { return p.Settings.BestHour }) {
		return
	}
	w.hours.noted = map[engine.AttemptID]struct{}{}
	var again func()
	again = func() {
		w.hours.learned = w.hours.learning
		w.hours.learned.Countries = slices.Clone(w.hours.learning.Countries)
		w.hours.learned.Through = w.wall()
		if p := w.process; p != nil {
			for _, r := range p.runs {
				if r != nil {
					r.tell(&run.HoursLearned{Hours: w.hours.learned})
				}
			}
		}
		w.push(learnEvery, simEvent{idle: true, f: again})
	}
	w.push(learnEvery, simEvent{idle: true, f: again})
}
