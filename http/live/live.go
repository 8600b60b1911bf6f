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

// The live state of campaigns (DESIGN: "Live state for the console comes from the campaign actor
// (snapshot, then deltas at ≤ 1 Hz), never from polling tables"). This file defines what is shown;
// feed.go detects changes, stream.go sends them to a browser.

// liveListed is how many campaigns the list's stream shows: the newest.
const liveListed = 200

// WatchCampaign streams one campaign.
func (f *Feeds) WatchCampaign(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	name, shown := shownTo(r, "campaign "+string(id))
	return f.watch(r, name, false, func(ctx context.Context) ([]campaign.Detail, int, error) {
		d, err := f.campaigns.Detail(ctx, id)
		return shown([]campaign.Detail{d}), 1, err
	}, f.gate.StillAllowed(r))
}

// WatchCampaigns streams the list; a key that is bound to campaigns sees these.
func (f *Feeds) WatchCampaigns(r *wire.Request) error {
	only := campaign.OnlyOf(r.OnlyCampaigns())
	key := "campaigns"
	if only != "" {
		key += " " + only
	}
	name, shown := shownTo(r, key)
	return f.watch(r, name, true, func(ctx context.Context) ([]campaign.Detail, int, error) {
		list, total, err := f.campaigns.List(ctx, campaign.Page{Number: 1, Size: liveListed, Only: only})
		return shown(list), total, err
	}, f.gate.StillAllowed(r))
}

// shownTo is the stream of whoever asks: those who must not see secrets of settings share one of their own.
func shownTo(r *wire.Request, name string) (string, func([]campaign.Detail) []campaign.Detail) {
	if !campaigns.HidesSecrets(r) {
		return name, func(list []campaign.Detail) []campaign.Detail { return list }
	}
	return name + ", masked", func(list []campaign.Detail) []campaign.Detail {
		for i := range list {
			list[i].Campaign.Settings = list[i].Campaign.Settings.Masked()
		}
		return list
	}
}

// picture is the state that a stream's clients have: one campaign, or a list of them by identifier.
type picture struct {
	list  bool
	parts map[engine.CampaignID]part
	total int
}

// part is one campaign of a picture.
type part struct {
	shown []byte // what the clients have, without the time of day
	now   []byte // the same with the current time of day
}

// move updates the picture and returns the patch for the clients, nil if they need none.
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

// moved returns the patch from the clients' state to the current one, nil if only the time of day
// changed.
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

// whole returns the picture for a new client.
func (p *picture) whole() ([]byte, error) {
	campaigns := make(map[engine.CampaignID]json.RawMessage, len(p.parts))
	for id, part := range p.parts {
		if !p.list { // the only one it has
			return part.now, nil
		}
		campaigns[id] = part.now
	}
	return json.Marshal(struct {
		Campaigns map[engine.CampaignID]json.RawMessage `json:"campaigns"`
		Total     int                                   `json:"total"`
	}{campaigns, p.total})
}
