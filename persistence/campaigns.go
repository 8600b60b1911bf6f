package persistence

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/ownership"
	"dialler/persistence/column"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// InsertCampaign stores a new draft with its first event. Inserting the same campaign again is
// harmless.
func (s *Store) InsertCampaign(ctx context.Context, c campaign.Campaign, events ...journal.Event) error {
	return s.db.InTx(ctx, "campaign not stored", func(tx pgx.Tx) error {
		if err := column.Exec(ctx, tx, table.InsertCampaign, table.CampaignColumns, &s.db.Shapes.Load().Campaigns,
			&c); err != nil {
			return err
		}
		rows := s.db.Written()
		of := table.Owner{Campaign: string(c.ID)}
		if err := rows.Add(ctx, tx, of, table.PartCampaign, "t.id = $1", string(c.ID)); err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, rows, events...)
	})
}

// Campaign returns a campaign's row without acquiring it.
func (s *Store) Campaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	return s.db.Campaign(ctx, id)
}

// Campaigns returns one page, newest first, and the total. The filter is a campaign state or "";
// page.Only leaves out all other campaigns.
func (s *Store) Campaigns(ctx context.Context, page campaign.Page) (list []campaign.Campaign, total int, err error) {
	const filter = "WHERE ($1 = '' OR c.state = $1) AND ($2 = '' OR c.id = ANY(string_to_array($2, ',')))"
	err = s.db.Read.QueryRow(ctx, "SELECT count(*) FROM campaigns c "+filter, page.Filter, page.Only).Scan(&total)
	if err != nil {
		return nil, 0, s.db.Wrap("campaigns not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, table.SelectCampaign+filter+" ORDER BY c.created_at DESC, c.id LIMIT $3 OFFSET $4",
		page.Filter, page.Only, page.Size, pool.Offset(page))
	list, err = pgx.CollectRows(rows, table.ScanCampaign)
	return list, total, s.db.Wrap("campaigns not read", err)
}

// AcquireCampaign takes ownership: it waits for the previous owner's commits in flight, increments
// the fencing epoch, and returns the campaign's row with its Seq beyond every stored event. It
// returns ErrCampaignNotFound when there is none, and in a cluster (ActAs) ownership.ErrNotOwner or
// ErrFenced when this node does not own the campaign.
func (s *Store) AcquireCampaign(ctx context.Context, id engine.CampaignID) (c campaign.Campaign, err error) {
	s.db.Epochs.Asks(id)
	defer func() { s.db.Epochs.Answered(id, c.Epoch, err) }()
	err = s.db.InTx(ctx, "campaign not taken over", func(tx pgx.Tx) error {
		// FOR UPDATE conflicts with the commits' KEY SHARE.
		if _, err := tx.Exec(ctx, "SELECT 1 FROM campaigns WHERE id = $1 FOR UPDATE", string(id)); err != nil {
			return err
		}
		if err := s.owns(ctx, tx, ownership.Campaign, string(id)); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `UPDATE campaigns c SET epoch = epoch + 1,
			seq = greatest(seq, (SELECT max(e.seq) FROM events e WHERE e.campaign_id = $1 AND e.seq > 0))
			WHERE c.id = $1 RETURNING `+column.Names(table.CampaignColumns, "c"), string(id))
		c, err = pgx.CollectExactlyOneRow(rows, table.ScanCampaign)
		if errors.Is(err, pgx.ErrNoRows) {
			return table.ErrCampaignNotFound
		}
		return err
	})
	return c, err
}

// ActiveCampaigns lists, oldest first, the campaigns that are running or paused, have live attempts
// or outstanding results, or whose run ended before all waiting contacts were closed.
func (s *Store) ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT c.id FROM campaigns c
		WHERE c.state IN ('running', 'paused') OR EXISTS (SELECT FROM attempts a WHERE a.live AND a.campaign_id = c.id)
			OR EXISTS (SELECT FROM contacts k WHERE k.campaign_id = c.id AND k.result_due_at IS NOT NULL)
			OR c.state = 'completed' AND EXISTS (SELECT FROM contacts k WHERE k.campaign_id = c.id AND k.run = c.run
			AND k.due_at IS NOT NULL)
			OR EXISTS (SELECT FROM import_contacts u WHERE u.campaign_id = c.id AND u.undo->>'state' = 'in_progress')
		ORDER BY c.created_at, c.id`)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[engine.CampaignID])
	return ids, s.db.Wrap("active campaigns not read", err)
}

// ActAs sets which node of a cluster this process is from now on; 0 means it has no lease.
// AcquireCampaign then checks that the node owns the campaign, and a commit that it may write about
// its dialouts. A process that never calls it runs alone.
func (s *Store) ActAs(id engine.Incarnation) {
	if id == 0 {
		id = table.Nobody
	}
	s.db.Acting.Store(int32(id))
}

// owns checks in a transaction that this process's node owns an identity, and keeps it so until the
// transaction ends.
func (s *Store) owns(ctx context.Context, tx pgx.Tx, kind ownership.Kind, id string) error {
	as := s.db.Acting.Load()
	if as == 0 {
		return nil
	}
	var live bool
	err := tx.QueryRow(ctx, `SELECT n.left_at IS NULL AND n.expires_at > clock_timestamp() FROM owners w
		JOIN nodes n USING (incarnation)
		WHERE w.kind = $1 AND w.identity = $2 AND w.incarnation = $3 FOR SHARE OF w`, kind, id, as).Scan(&live)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ownership.ErrNotOwner
	case err == nil && !live:
		return ownership.ErrFenced
	}
	return err
}

// RemoveCampaign deletes a campaign that never ran, with its contacts and exclusions. Its activity
// stays in the history. Removing one that no longer exists is no error.
func (s *Store) RemoveCampaign(ctx context.Context, id engine.CampaignID, who engine.Who) error {
	return s.db.InTx(ctx, "campaign not removed", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, table.LockSearched); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, "SELECT ever_run OR run > 1 FROM campaigns WHERE id = $1 FOR UPDATE", string(id))
		ran, err := pgx.CollectOneRow(rows, pgx.RowTo[bool])
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case ran:
			return engine.Conflict("campaign_was_run", "")
		}
		gone := s.db.Written()
		for _, p := range []*table.Part{table.PartVariables, table.PartContact, table.PartExclusion, table.PartImport,
			table.PartCampaign} {
			if err := gone.Remove(ctx, tx, table.Owner{Campaign: string(id)}, p, p.Of, string(id)); err != nil {
				return err
			}
		}
		for _, sql := range []string{
			"DELETE FROM contact_variables v USING contacts c WHERE c.campaign_id = $1 AND v.contact_id = c.id",
			"DELETE FROM contact_mentions m USING contacts c WHERE c.campaign_id = $1 AND m.contact_id = c.id",
			"DELETE FROM contacts WHERE campaign_id = $1",
			"DELETE FROM contact_search WHERE campaign_id = $1",
			"DELETE FROM contact_search_unread WHERE campaign_id = $1",
			"DELETE FROM exclusions WHERE campaign_id = $1",
			"DELETE FROM import_rows r USING imports i WHERE i.campaign_id = $1 AND r.import_id = i.id",
			"DELETE FROM import_rejected r USING imports i WHERE i.campaign_id = $1 AND r.import_id = i.id",
			"DELETE FROM import_contacts WHERE campaign_id = $1",
			"DELETE FROM imports WHERE campaign_id = $1",
			"DELETE FROM pacing WHERE campaign_id = $1",
			"DELETE FROM campaigns WHERE id = $1",
		} {
			if _, err := tx.Exec(ctx, sql, string(id)); err != nil {
				return err
			}
		}
		return s.db.NoteWritten(ctx, tx, gone, journal.CampaignDeleted, string(id), who)
	})
}
