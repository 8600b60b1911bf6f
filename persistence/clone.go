package persistence

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// A clone is made by the database alone, in one transaction over one snapshot: no contact passes
// through this process, however many there are, and a running original is not blocked.

// cloneContacts gives each contact a new identifier, with the time of the clone before its
// position, so that the copies keep their order. A contact that is excluded, or will be once its
// call is over, stays excluded.
//
// Each copy is written beside its original, whose variables are then looked up one by one (OFFSET 0
// stops the planner from reordering this): a list that was just imported has no statistics yet, and
// a join planned without them has read the whole list for each contact.
const cloneContacts = `WITH pair AS MATERIALIZED (
		SELECT c.id AS original, (lpad(to_hex((extract(epoch FROM $4::timestamptz) * 1000)::bigint), 12, '0')
				|| lpad(to_hex(c.position % 4294967296), 8, '0') || right(replace(gen_random_uuid()::text, '-', ''),
					12))::uuid AS copy,
			c.number, c.position, c.source, c.reason, c.state = 'excluded' OR c.exclude_after_call AS excluded,
			c.not_before, c.expires_at, c.precedence, c.alternates
		FROM contacts c WHERE c.campaign_id = $1 AND NOT starts_with(c.number, '` + engine.ErasedPrefix + `')
	), copied AS (
		INSERT INTO contacts (id, campaign_id, number, position, source, run, state, reason, max, due_at,
			due_class, due_pass,
			created_at, updated_at, version, not_before, expires_at, precedence, alternates)
		SELECT copy, $2, number, position, source, 1, CASE WHEN excluded THEN 'excluded' ELSE 'pending' END,
			CASE WHEN excluded THEN reason ELSE '' END, $3,
			CASE WHEN excluded THEN NULL ELSE greatest($4::timestamptz, not_before) END, 2, 1, $4, $4, 1,
			not_before, expires_at, precedence, alternates
		FROM pair ORDER BY position
	)
	INSERT INTO contact_variables (contact_id, hash, variables)
	SELECT p.copy, v.hash, v.variables FROM pair p
	CROSS JOIN LATERAL (SELECT hash, variables FROM contact_variables WHERE contact_id = p.original OFFSET 0) v`

const cloneExclusions = `INSERT INTO exclusions (campaign_id, number, match, reason, lifted, created_at)
	SELECT $2, number, match, reason, false, created_at FROM exclusions
	WHERE campaign_id = $1 AND NOT lifted AND NOT starts_with(number, '` + engine.ErasedPrefix + `')`

// CloneCampaign copies a campaign in any state into a new draft: settings, number pool, contacts
// with their variables, and exclusions. Contacts are pending with no attempts, and the excluded
// stay excluded. The clone is recorded in both histories; in the original's it is outside the
// sequence, which only the run writes. It returns ErrCampaignNotFound when there is none.
func (s *Store) CloneCampaign(ctx context.Context, cmd campaign.Clone, as engine.CampaignID,
	now time.Time) (campaign.Campaign, error) {
	var draft campaign.Campaign
	err := s.db.InTxOf(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, "campaign not cloned", func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, table.SelectCampaign+"WHERE c.id = $1", string(cmd.Campaign))
		original, err := pgx.CollectExactlyOneRow(rows, table.ScanCampaign)
		if errors.Is(err, pgx.ErrNoRows) {
			return table.ErrCampaignNotFound
		}
		if err != nil {
			return err
		}
		draft = campaign.CopyOf(&original, as, cmd, now)
		if err := draft.Settings.CheckCopy(); err != nil {
			return err
		}
		if err := column.Exec(ctx, tx, table.InsertCampaign, table.CampaignColumns, &s.db.Shapes.Load().Campaigns,
			&draft); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, cloneContacts, string(cmd.Campaign), string(as), draft.Settings.MaxAttempts,
			now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, cloneExclusions, string(cmd.Campaign), string(as)); err != nil {
			return err
		}
		events, err := cloneEvents(ctx, tx, &original, &draft, cmd.Who)
		if err != nil {
			return err
		}
		written := s.db.Written()
		for _, x := range []struct {
			run  int
			part *table.Part
		}{{0, table.PartCampaign}, {0, table.PartExclusion}, {1, table.PartContact}, {1, table.PartVariables}} {
			of := table.Owner{Campaign: string(as), Run: x.run}
			if err := written.Add(ctx, tx, of, x.part, x.part.Of, string(as)); err != nil {
				return err
			}
		}
		return s.db.TellWritten(ctx, tx, written, events...)
	})
	if err != nil {
		return campaign.Campaign{}, err
	}
	return draft, nil
}

// cloneEvents returns what both histories record of the clone: the copy's begins with its contacts,
// so that folding it gives its tables.
func cloneEvents(ctx context.Context, tx pgx.Tx, original, draft *campaign.Campaign, who engine.Who) ([]journal.Event,
	error) {
	var open, excluded int
	err := tx.QueryRow(ctx, "SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = "+
		"'excluded') FROM contacts WHERE campaign_id = $1",
		string(draft.ID)).Scan(&open, &excluded)
	if err != nil {
		return nil, err
	}
	at := draft.CreatedAt
	own := func(seq int64, t journal.Type, d journal.Data) journal.Event {
		return journal.Event{Campaign: draft.ID, Seq: seq, Run: 1, At: at, Type: t, Version: 1, Data: d}
	}
	most := draft.Settings.MaxAttempts
	fresh, out := contact.Fresh(most), contact.Facts{State: contact.Excluded, Max: most}
	return []journal.Event{
		{Campaign: original.ID, Run: original.Run, At: at, Type: journal.CampaignCloned, Version: 1,
			Data: journal.Data{Who: &who, Campaign: draft.ID}},
		own(1, journal.CampaignCreated, journal.Data{Who: &who, Campaign: original.ID}),
		own(2, journal.ContactsAdded, journal.Data{After: &fresh, Count: open}),
		own(3, journal.ContactsAdded, journal.Data{After: &out, Count: excluded}),
	}, nil
}
