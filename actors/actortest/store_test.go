package actortest_test

import (
	"context"
	"slices"
	"testing"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/storetest"
)

func TestTheStoreKeepsThePromisesOfPostgreSQL(t *testing.T) {
	t.Parallel()
	storetest.RunPort(t, func(testing.TB) storetest.Port {
		s := actortest.NewStore()
		s.Delay = 0
		return port{s}
	})
}

// port adds what sets the scene of a test.
type port struct{ *actortest.Store }

func (p port) InsertCampaign(_ context.Context, c campaign.Campaign, events ...journal.Event) error {
	p.View(func() {
		p.Store.Campaigns[c.ID] = &c
		p.Store.Events = append(p.Store.Events, events...)
	})
	return nil
}

func (p port) Campaign(_ context.Context, id engine.CampaignID) (c campaign.Campaign, err error) {
	p.View(func() {
		if row := p.Campaigns[id]; row != nil {
			c = *row
		} else {
			err = engine.NotFound("campaign_not_found", "no such campaign")
		}
	})
	return c, err
}

func (p port) Contacts(_ context.Context, id engine.CampaignID, page campaign.Page) (list campaign.ContactList, _ error) {
	p.View(func() {
		for _, c := range p.Rows {
			if c.Campaign == id && len(list.Contacts) < page.Size {
				list.Contacts = append(list.Contacts, campaign.ContactView{Contact: *c})
			}
		}
	})
	list.Total = len(list.Contacts)
	return list, nil
}

// Events gives what is behind a place of the campaign's sequence, in its order.
func (p port) Events(_ context.Context, id engine.CampaignID, after int64, limit int) (list []journal.Event, err error) {
	p.View(func() {
		for _, e := range p.Store.Events {
			if e.Campaign == id && e.Seq > after {
				list = append(list, e)
			}
		}
	})
	slices.SortFunc(list, func(a, b journal.Event) int { return int(a.Seq - b.Seq) })
	return list[:min(limit, len(list))], nil
}
