package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
)

const trunkColumns = `id, host, port, transport, username, password, from_domain, number_format,
	cps_cap, channel_cap, priority, weight, options_s, active`

func scanTrunk(row pgx.CollectableRow) (t engine.TrunkSettings, err error) {
	err = row.Scan(&t.ID, &t.Host, &t.Port, &t.Transport, &t.Username, &t.Password, &t.FromDomain, &t.NumberFormat,
		&t.CPSCap, &t.ChannelCap, &t.Priority, &t.Weight, &t.OptionsSec, &t.Active)
	return t, err
}

// Trunks lists every trunk in the order in which they are tried.
func (s *Store) Trunks(ctx context.Context) ([]engine.TrunkSettings, error) {
	rows, _ := s.read.Query(ctx, "SELECT "+trunkColumns+" FROM trunks ORDER BY priority, id")
	list, err := pgx.CollectRows(rows, scanTrunk)
	return list, s.wrap("trunks not read", err)
}

// PutTrunk creates or replaces a trunk by its identifier; with keepSecret the
// stored Password stays.
func (s *Store) PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (created bool, err error) {
	err = s.inTx(ctx, "trunk not stored", func(tx pgx.Tx) error {
		if created, err = absent(ctx, tx, "trunks", "id", string(t.ID)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO trunks AS t (`+trunkColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (id) DO UPDATE SET host = excluded.host, port = excluded.port, transport = excluded.transport,
			username = excluded.username, password = CASE WHEN $15 THEN t.password ELSE excluded.password END,
			from_domain = excluded.from_domain, number_format = excluded.number_format, cps_cap = excluded.cps_cap,
			channel_cap = excluded.channel_cap, priority = excluded.priority, weight = excluded.weight,
			options_s = excluded.options_s, active = excluded.active`,
			string(t.ID), t.Host, t.Port, t.Transport, t.Username, t.Password, t.FromDomain, t.NumberFormat,
			t.CPSCap, t.ChannelCap, t.Priority, t.Weight, t.OptionsSec, t.Active, keepSecret)
		if err != nil {
			return err
		}
		return s.note(ctx, tx, verb("trunk", created), string(t.ID), who)
	})
	return created, err
}
