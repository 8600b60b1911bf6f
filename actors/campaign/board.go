package campaign

import (
	"sync"

	"dialler/engine"
	core "dialler/engine/run"
)

// boardCap bounds the campaigns whose figures are published: a label for each
// would otherwise grow with the number of campaigns.
const boardCap = 200

// Figures are what a campaign publishes for the metrics, once a tick while it
// is running, paused, or has calls.
type Figures = core.Figures

// Board is where the runs put their figures, so that whoever reads them waits
// for no actor.
type Board struct {
	mu   sync.Mutex
	list map[engine.CampaignID]Figures
}

// put publishes; beyond boardCap campaigns the newcomers are left out.
func (b *Board) put(f *Figures) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.list == nil {
		b.list = make(map[engine.CampaignID]Figures)
	}
	if _, ok := b.list[f.Campaign]; ok || len(b.list) < boardCap {
		b.list[f.Campaign] = *f
	}
}

func (b *Board) remove(id engine.CampaignID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.list, id)
}

// All gives what the campaigns published last, at most 200 of them.
func (b *Board) All() []Figures {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Figures, 0, len(b.list))
	for _, f := range b.list {
		list = append(list, f)
	}
	return list
}
