package actors

import (
	"sync"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
)

// boardCap bounds the campaigns whose figures are published: a label for each
// would otherwise grow with the number of campaigns.
const boardCap = 200

// Figures are what a campaign publishes for the metrics, once a tick while it
// is running, paused, or has calls.
type Figures struct {
	Campaign engine.CampaignID
	Dialling, Ringing, Waiting, InProgress,
	Seats int
	Contacts     map[contact.State]int
	Pending      int
	RetriesLeft  int
	AbandonRates map[pacing.Period]float64 // of the periods that had a live answer
	AbandonCap   float64                   // at most so much, 0 to 1
	Due          int                       // contacts that could be dialled, those that were looked ahead for
	Constraint   engine.Constraint         // why no more is dialled
}

// board is where the runs put their figures, so that whoever reads them waits
// for no actor.
type board struct {
	mu   sync.Mutex
	list map[engine.CampaignID]Figures
}

// put publishes; beyond boardCap campaigns the newcomers are left out.
func (b *board) put(f *Figures) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.list == nil {
		b.list = make(map[engine.CampaignID]Figures)
	}
	if _, ok := b.list[f.Campaign]; ok || len(b.list) < boardCap {
		b.list[f.Campaign] = *f
	}
}

func (b *board) remove(id engine.CampaignID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.list, id)
}

// Figures gives what the campaigns published last, at most 200 of them.
func (t *Tree) Figures() []Figures {
	b := &t.d.board
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Figures, 0, len(b.list))
	for _, f := range b.list {
		list = append(list, f)
	}
	return list
}

func (r *run) publish() {
	if !r.ready || r.tally == nil || !r.needsTick() {
		r.d.board.remove(r.id)
		return
	}
	c := r.tally.Counters()
	f := Figures{Campaign: r.id, Dialling: r.phases[phaseIndex(attempt.PhaseDialling)], Ringing: r.phases[phaseIndex(attempt.PhaseRinging)],
		Waiting: len(r.waiting), InProgress: r.phases[phaseIndex(attempt.PhaseServed)], Seats: r.seatCap(),
		Contacts: c.States, Pending: c.Pending, RetriesLeft: c.RetriesLeft, AbandonRates: map[pacing.Period]float64{},
		AbandonCap: float64(r.m.C.Settings.AbandonCapPPM) / 1e6, Due: r.queue.Len(), Constraint: r.pace.last.Constraint}
	if r.m.C.State != campaign.Running {
		f.Constraint = engine.ConstraintPaused
	}
	for _, l := range r.ledgerViews() {
		if l.AbandonRate != nil {
			f.AbandonRates[l.Period] = *l.AbandonRate
		}
	}
	r.d.board.put(&f)
}

// countQuarantined publishes how many of the numbers are quarantined.
func (n *numbers) countQuarantined() {
	count := len(n.barred)
	for no, s := range n.set {
		if _, barred := n.barred[no]; !barred && s.State == string(numberpool.Quarantined) {
			count++
		}
	}
	n.d.stats.Quarantined.Store(int64(count))
}
