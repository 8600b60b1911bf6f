package site

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
)

// Owners returns the name of the node that owns each campaign; campaigns without an owner are
// missing.
func (s *Site) Owners(ctx context.Context) (map[engine.CampaignID]string, error) {
	c, err := pgx.Connect(ctx, s.pg.URL())
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	rows, err := c.Query(ctx, `SELECT o.identity, n.name FROM owners o JOIN nodes n USING (incarnation)
		WHERE o.kind = 'campaign' AND n.left_at IS NULL AND n.expires_at > clock_timestamp()`)
	if err != nil {
		return nil, err
	}
	all, id, name := map[engine.CampaignID]string{}, "", ""
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		all[engine.CampaignID(id)] = name
		return nil
	})
	return all, err
}
