package campaign

import (
	"sync"

	"dialler/engine"
	core "dialler/engine/run"
)

// boardCap limits the campaigns whose figures are published: otherwise the number of labels would
// grow with the number of campaigns.
const boardCap = 200

// Figures are a campaign's metrics, published once a tick while it is running, paused, or has
// calls.
type Figures = core.Figures

// Board is where the runs publish their figures, so that readers wait for no actor.
type Board struct {
	mu   sync.Mutex
	list map[engine.CampaignID]Figures
}

// put publishes figures; beyond boardCap campaigns, new ones are left out.
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

// All returns what the campaigns published last, for at most 200 of them.
func (b *Board) All() []Figures {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Figures, 0, len(b.list))
	for _, f := range b.list {
		list = append(list, f)
	}
	return list
}
