package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence"
)

type dbAuditCmd struct {
	storeFlags `embed:""`
	Campaign   string `help:"Only this campaign; all when empty."`
}

// Run folds the events of campaigns and compares them with the tables. It fails
// when a figure differs.
func (d *dbAuditCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	s, done, err := d.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	return audit(ctx, s, engine.CampaignID(d.Campaign), os.Stdout)
}

// audit prints what differs of a campaign, or of all when id is "".
func audit(ctx context.Context, s *persistence.Store, id engine.CampaignID, out io.Writer) (err error) {
	ids := []engine.CampaignID{id}
	if id == "" {
		if ids, err = allCampaigns(ctx, s); err != nil {
			return err
		}
	}
	events, wrong := 0, 0
	for _, id := range ids {
		a, err := s.Audit(ctx, id)
		if err != nil {
			return fmt.Errorf("campaign %s: %w", id, err)
		}
		events += a.Events
		for _, r := range a.Runs {
			for _, x := range r.Differences {
				wrong++
				_, _ = fmt.Fprintf(out, "%s run %d: %s: events %s, tables %s\n", id, r.Run, x.Figure, x.A, x.B)
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d figures of %d campaigns differ between events and tables", wrong, len(ids))
	}
	_, _ = fmt.Fprintf(out, "%d campaigns, %d events: the tables say the same\n", len(ids), events)
	return nil
}

// allCampaigns lists the campaigns, newest first.
func allCampaigns(ctx context.Context, s *persistence.Store) (ids []engine.CampaignID, err error) {
	const size = 200
	for n := 1; ; n++ {
		rows, _, err := s.Campaigns(ctx, campaign.Page{Number: n, Size: size})
		if err != nil {
			return nil, err
		}
		for i := range rows {
			ids = append(ids, rows[i].ID)
		}
		if len(rows) < size {
			return ids, nil
		}
	}
}
