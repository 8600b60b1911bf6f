package actors

import (
	"sync"

	"dialler/engine"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
)

// boardCap bounds the campaigns whose figures are published: a label for each
// would otherwise grow with the number of campaigns.
const boardCap = 200

// Figures are what a campaign publishes for the metrics, once a tick while it
// is running, paused, or has calls.
type Figures = core.Figures

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
