package live

import (
	"bytes"
	"context"
	"encoding/json"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/campaigns"
	"dialler/http/form"
	"dialler/http/wire"
)

// What campaigns do now (DESIGN: "Live state for the console comes from the
// campaign actor (snapshot, then deltas at ≤ 1 Hz), never from polling
// tables"). This file says what is shown; feed.go finds out that it changed,
// stream.go brings it to a browser.

// liveListed is how many campaigns the stream of the list shows: the newest.
const liveListed = 200

// WatchCampaign streams one campaign.
func (f *Feeds) WatchCampaign(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	return f.watch(r, "campaign "+string(id), false, func(ctx context.Context) ([]campaign.Detail, int, error) {
		d, err := f.campaigns.Detail(ctx, id)
		return []campaign.Detail{d}, 1, err
	}, f.gate.StillAllowed(r))
}

// WatchCampaigns streams the list.
func (f *Feeds) WatchCampaigns(r *wire.Request) error {
	return f.watch(r, "campaigns", true, func(ctx context.Context) ([]campaign.Detail, int, error) {
		return f.campaigns.List(ctx, campaign.Page{Number: 1, Size: liveListed})
	}, f.gate.StillAllowed(r))
}

// picture is what a stream's clients have before them: one campaign, or a list
// of them by identifier.
type picture struct {
	list  bool
	parts map[engine.CampaignID]part
	total int
}

// part is one campaign of a picture.
type part struct {
	shown []byte // what the clients have, the time of day aside
	now   []byte // the same with the present time of day
}

// move brings the picture up to date and gives the patch that does the same at
// the clients, nil when there is nothing that they need to know.
func (p *picture) move(list []campaign.Detail, total int) (patch []byte, err error) {
	parts := make(map[engine.CampaignID]part, len(list))
	changes := make(map[engine.CampaignID]json.RawMessage)
	for i := range list {
		id := list[i].Campaign.ID
		view := campaigns.View
		if p.list {
			view = campaigns.Listed
		}
		now, err := json.Marshal(view(&list[i]))
		if err != nil {
			return nil, err
		}
		parts[id] = part{shown: now, now: now}
		was, known := p.parts[id]
		if !known {
			changes[id] = now
			continue
		}
		patch, err := was.moved(now, list[i].Live)
		switch {
		case err != nil:
			return nil, err
		case patch == nil:
			parts[id] = part{shown: was.shown, now: now}
		default:
			changes[id] = patch
		}
	}
	if !p.list {
		p.parts = parts
		return changes[list[0].Campaign.ID], nil
	}
	for id := range p.parts {
		if _, still := parts[id]; !still {
			changes[id] = form.NullText
		}
	}
	var delta struct {
		Campaigns map[engine.CampaignID]json.RawMessage `json:"campaigns,omitempty"`
		Total     *int                                  `json:"total,omitempty"`
	}
	if delta.Campaigns = changes; total != p.total {
		delta.Total = &total
	}
	p.parts, p.total = parts, total
	if len(changes) == 0 && delta.Total == nil {
		return nil, nil
	}
	return json.Marshal(delta)
}

// moved gives the patch from what the clients have to the present, nil when
// nothing changed but the time of day.
func (p part) moved(now []byte, live *campaign.Live) ([]byte, error) {
	if bytes.Equal(p.shown, now) {
		return nil, nil
	}
	patch, err := form.MergePatch(p.shown, now)
	if err != nil || bytes.Equal(patch, form.EmptyText) {
		return nil, err
	}
	if live != nil {
		at, err := json.Marshal(map[string]any{"live": map[string]any{"at": live.At}})
		if err != nil || bytes.Equal(patch, at) {
			return nil, err
		}
	}
	return patch, nil
}

// whole is the picture as a new client gets it.
func (p *picture) whole() ([]byte, error) {
	campaigns := make(map[engine.CampaignID]json.RawMessage, len(p.parts))
	for id, part := range p.parts {
		if !p.list { // it has only this one
			return part.now, nil
		}
		campaigns[id] = part.now
	}
	return json.Marshal(struct {
		Campaigns map[engine.CampaignID]json.RawMessage `json:"campaigns"`
		Total     int                                   `json:"total"`
	}{campaigns, p.total})
}
