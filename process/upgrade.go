package process

import (
	"context"
	"slices"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
)

// While a cluster is upgraded, a node of the release before may act for any campaign. It calls without regard to
// what it does not know, and drops it when it writes a campaign's row. So what only this release knows is accepted
// once every node is of it (docs/upgrade.md).

// upgraded returns Unavailable "node_version" while a live node is of the release before, or has not yet been heard.
func (f *Front) upgraded(ctx context.Context) error {
	s := f.p.several
	if s == nil {
		return nil
	}
	return s.others(ctx, 0, func(_ context.Context, n *ownership.Node) error {
		if l := f.p.links.To(n.Incarnation); !n.Live || l != nil && l.Speaks(link.Version) {
			return nil
		}
		return engine.Unavailable("node_version", "Finish the upgrade first: node "+n.Name+" is of the release before, "+
			"or has not said yet of which it is.", 5*time.Second)
	})
}

// kept refuses settings of a campaign that a node of the release before would drop.
func (f *Front) kept(ctx context.Context, s *campaign.Settings) error {
	if len(s.Calendars) == 0 && s.CallbackPolicy == "" && !s.BestHour {
		return nil
	}
	return f.upgraded(ctx)
}

// numbered refuses contacts with further numbers that a node of the release before would drop.
func (f *Front) numbered(ctx context.Context, list []campaign.NewContact) error {
	if !slices.ContainsFunc(list, func(c campaign.NewContact) bool { return c.Alternates != "" }) {
		return nil
	}
	return f.upgraded(ctx)
}

// Act implements http.Campaigns.
func (f *Front) Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error) {
	if cmd.Settings != nil {
		if err := f.kept(ctx, cmd.Settings); err != nil {
			return campaign.Detail{}, err
		}
	}
	return f.commands.Act(ctx, cmd)
}

// AddContacts implements http.Campaigns.
func (f *Front) AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error) {
	if err := f.numbered(ctx, cmd.Contacts); err != nil {
		return campaign.AddReport{}, err
	}
	return f.commands.AddContacts(ctx, cmd)
}

// AddBatch implements http.Campaigns.
func (f *Front) AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error) {
	if err := f.numbered(ctx, cmd.Contacts); err != nil {
		return campaign.BatchReply{}, err
	}
	return f.commands.AddBatch(ctx, cmd)
}

// Trigger implements http.Campaigns.
func (f *Front) Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	if cmd.Alternates != "" {
		if err := f.upgraded(ctx); err != nil {
			return campaign.TriggerReply{}, err
		}
	}
	return f.commands.Trigger(ctx, cmd)
}
