package contacts

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/commit"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// AddContacts inserts contacts at ascending positions after the existing ones, in one transaction
// with its event. Numbers that the campaign has already, or that occur twice in the list, are
// counted as duplicates; while Sticky Exclusion is on, rows that an exclusion covers are counted as
// excluded. Called again after an unknown outcome, it counts what the first call added.
func (s *Roster) AddContacts(ctx context.Context, add journal.ContactInsert) (report campaign.AddReport, err error) {
	err = s.db.InTx(ctx, "contacts not added", func(tx pgx.Tx) error {
		report = campaign.AddReport{}
		sticky, err := s.lockForAdding(ctx, tx, add.Campaign, add.Epoch)
		if err != nil {
			return err
		}
		rows, err := insertRows(&add)
		if err != nil {
			return err
		}
		became, err := addRowsOf(ctx, tx, &add, rows, sticky)
		if err != nil {
			return err
		}
		for i := range became {
			switch became[i].Status {
			case campaign.RowAdded:
				report.Added++
			case campaign.RowExcluded:
				report.Excluded++
			default:
				report.Duplicates++
			}
		}
		err = tx.QueryRow(ctx, "SELECT count(*) FROM contacts WHERE campaign_id = $1",
			string(add.Campaign)).Scan(&report.Total)
		if err != nil {
			return err
		}
		if err := keepAnswer(ctx, tx, &add, became); err != nil {
			return err
		}
		if err := mention(ctx, tx, became); err != nil {
			return err
		}
		if report.Added > 0 {
			ev := add.Event
			ev.Data.Count = report.Added
			written, of := s.db.Written(), table.Owner{Campaign: string(add.Campaign), Run: add.Run}
			err := written.Add(ctx, tx, of, table.PartContact, "t.id = ANY($1::uuid[])", rows.ids)
			if err == nil {
				err = written.Add(ctx, tx, of, table.PartVariables, "t.contact_id = ANY($1::uuid[])", rows.ids)
			}
			if err != nil {
				return err
			}
			return s.db.TellWritten(ctx, tx, written, ev)
		}
		return nil
	})
	return report, err
}

// mention notes that a list has named contacts that the campaign had.
func mention(ctx context.Context, tx pgx.Tx, became []campaign.BatchResult) error {
	var ids []string
	for i := range became {
		if b := &became[i]; b.Status == campaign.RowDuplicate && b.ContactID != "" {
			ids = append(ids, string(b.ContactID))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, table.Mention, ids)
	return err
}

// addRowsOf inserts rows and returns the result for each contact of the list.
func addRowsOf(ctx context.Context, tx pgx.Tx, add *journal.ContactInsert, rows newRows,
	sticky bool) ([]campaign.BatchResult, error) {
	q, _ := tx.Query(ctx, addContacts, string(add.Campaign), add.Run, add.Source, add.Max, int(add.DueClass), add.At,
		sticky,
		rows.ids, rows.numbers, rows.hashes, rows.variables, rows.notBefore, rows.expiresAt, rows.precedence,
		rows.alternates)
	list, err := pgx.CollectRows(q, func(row pgx.CollectableRow) (r campaign.BatchResult, err error) {
		return r, row.Scan(&r.Status, column.Hex(&r.ContactID))
	})
	if err != nil {
		return nil, err
	}
	became := make([]campaign.BatchResult, len(add.Contacts))
	for i, at := range rows.of {
		became[i] = list[at]
		if rows.first[at] != i && became[i].Status != campaign.RowExcluded {
			became[i].Status = campaign.RowDuplicate
		}
	}
	return became, nil
}

// keepAnswer stores the reply to a request with an Idempotency-Key.
func keepAnswer(ctx context.Context, tx pgx.Tx, add *journal.ContactInsert, became []campaign.BatchResult) error {
	if add.Answer == nil {
		return nil
	}
	r := add.Answer(became)
	if r == nil {
		return nil
	}
	tag, err := tx.Exec(ctx, commit.KeepReplies, []string{string(r.Key)}, []string{r.Route}, []string{r.Token},
		[]string{r.BodyHash},
		[]int32{int32(r.Status)}, [][]byte{r.Body}, []time.Time{r.At}) //nolint:gosec // a status has three digits
	if err == nil && tag.RowsAffected() == 0 {
		err = journal.ErrReplyExists
	}
	return err
}

// lockForAdding blocks other additions, so that positions ascend, checks the owner's epoch, and
// says whether exclusions are sticky.
func (s *Roster) lockForAdding(ctx context.Context, tx pgx.Tx, id engine.CampaignID, epoch int64) (sticky bool,
	err error) {
	var stored int64
	err = tx.QueryRow(ctx, `SELECT epoch, coalesce((settings->>'sticky_exclusion')::boolean, false)
		FROM campaigns WHERE id = $1 FOR NO KEY UPDATE`, string(id)).Scan(&stored, &sticky)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, table.ErrCampaignNotFound
	case err == nil && stored != epoch:
		return false, s.db.Epochs.Stale(id, stored)
	}
	return sticky, err
}

// newRows are the numbers of a list, each once.
type newRows struct {
	ids, numbers []string
	alternates   []string
	hashes       []int64
	variables    [][]byte // JSON, nil without
	notBefore    []*time.Time
	expiresAt    []*time.Time
	precedence   []int32
	of           []int // per contact of the list: its number's row
	first        []int // per row: the first contact with the number
}

func insertRows(add *journal.ContactInsert) (r newRows, err error) {
	seen := make(map[engine.PhoneNumber]int, len(add.Contacts))
	r.of = make([]int, len(add.Contacts))
	for i := range add.Contacts {
		c := &add.Contacts[i]
		if at, dup := seen[c.Number]; dup {
			r.of[i] = at
			continue
		}
		seen[c.Number], r.of[i] = len(r.ids), len(r.ids)
		r.first = append(r.first, i)
		var vars []byte
		if len(c.Variables) > 0 {
			if vars, err = json.Marshal(c.Variables); err != nil {
				return r, err
			}
			vars = column.CleanJSON(vars)
		}
		r.ids = append(r.ids, string(c.ID))
		r.numbers = append(r.numbers, column.Clean(c.Number.E164()))
		r.alternates = append(r.alternates, column.Clean(string(c.Alternates)))
		r.hashes = append(r.hashes, table.VariablesHash(c.Variables))
		r.variables = append(r.variables, vars)
		var row contact.Contact
		row.Take(c.Times)
		r.notBefore, r.expiresAt = append(r.notBefore, row.NotBefore), append(r.expiresAt, row.ExpiresAt)
		r.precedence = append(r.precedence, int32(row.Precedence)) //nolint:gosec // from -4 to 5
	}
	return r, nil
}

// addContacts takes existing rows with the same identifier for its own, from a first try whose
// outcome was never reported.
var addContacts = `WITH given AS MATERIALIZED (
		SELECT * FROM unnest($8::uuid[], $9::text[], $10::bigint[], $11::jsonb[], $12::timestamptz[], $13::timestamptz[],
			$14::integer[], $15::text[])
			WITH ORDINALITY AS u(id, number, hash, variables, not_before, expires_at, precedence, alternates, n)
	), refused AS MATERIALIZED (
		SELECT g.id FROM given g WHERE $7 AND (
			EXISTS (SELECT FROM exclusions x WHERE x.campaign_id = $1 AND NOT x.lifted AND x.number = g.number
			AND x.match = '{}')
			OR g.alternates <> '' AND EXISTS (SELECT FROM exclusions x WHERE x.campaign_id = $1 AND NOT x.lifted
				AND x.number = ANY(` + table.NumbersAfterFirst("g") + `) AND x.match = '{}')
			OR EXISTS (SELECT FROM exclusions x WHERE x.campaign_id = $1 AND NOT x.lifted AND x.number = ''
			AND x.match <> '{}' AND g.variables @> x.match))
	), mine AS MATERIALIZED (
		SELECT g.id FROM given g JOIN contacts c ON c.id = g.id WHERE c.campaign_id = $1
	), base AS (
		SELECT coalesce(max(position), 0) AS position FROM contacts WHERE campaign_id = $1
	), added AS (
		INSERT INTO contacts (id, campaign_id, number, position, source, run, state, max, due_at, due_class, created_at,
			updated_at, version, not_before, expires_at, precedence, alternates)
		SELECT g.id, $1, g.number, base.position + g.n, $3, $2, '` + string(contact.Pending) + `', $4,
			greatest($6, g.not_before), $5, $6, $6, 1, g.not_before, g.expires_at, g.precedence,
			g.alternates
		FROM given g, base WHERE g.id NOT IN (SELECT id FROM refused) AND g.id NOT IN (SELECT id FROM mine)
		ORDER BY g.n
		ON CONFLICT (campaign_id, number) DO NOTHING RETURNING id
	), vars AS (
		INSERT INTO contact_variables (contact_id, hash, variables)
		SELECT g.id, g.hash, g.variables FROM given g JOIN added USING (id) WHERE g.variables IS NOT NULL
	)
	SELECT CASE WHEN mine.id IS NOT NULL OR added.id IS NOT NULL THEN 'added'
			WHEN refused.id IS NOT NULL THEN 'excluded'
			WHEN NOT $7 AND c.state = 'excluded' THEN 'readmitted'
			ELSE 'duplicate' END, coalesce(mine.id, added.id, c.id)
	FROM given g LEFT JOIN mine USING (id) LEFT JOIN added USING (id) LEFT JOIN refused USING (id)
		LEFT JOIN contacts c ON c.campaign_id = $1 AND c.number = g.number
	ORDER BY g.n`

// boundBy selects the exclusions that a campaign can show.
const boundBy = " FROM exclusions WHERE campaign_id = $1 AND NOT lifted AND NOT starts_with(number, '" +
	engine.ErasedPrefix + "')"

// ListExclusions returns one page of the exclusions in force in a campaign, newest first, and the
// total: all of them, or those of one number. Exclusions of erased persons, who no longer have a
// number, are left out.
func (s *Roster) ListExclusions(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber,
	page campaign.Page) (list []journal.Exclusion, total int, err error) {
	const filter = boundBy + " AND ($2 = '' OR number = $2)"
	if err = s.db.Read.QueryRow(ctx, "SELECT count(*)"+filter, string(id), n.E164()).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("exclusions not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT number, match, reason, created_at"+filter+" "+
		"ORDER BY created_at DESC, number, match LIMIT $3 OFFSET $4",
		string(id), n.E164(), page.Size, pool.Offset(page))
	list, err = pgx.CollectRows(rows, scanExclusion(id))
	return list, total, s.db.Wrap("exclusions not read", err)
}

// ExclusionsAfter returns up to limit exclusions in force after the given one, ordered by number
// and metadata. Those of erased persons are left out.
func (s *Roster) ExclusionsAfter(ctx context.Context, id engine.CampaignID, after journal.Exclusion,
	limit int) ([]journal.Exclusion, error) {
	match := after.Match
	if match == nil {
		match = map[string]string{}
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT number, match, reason, created_at"+boundBy+" "+
		"AND (number, match) > ($2, $3::jsonb) ORDER BY number, match LIMIT $4",
		string(id), after.Number.E164(), match, limit)
	list, err := pgx.CollectRows(rows, scanExclusion(id))
	return list, s.db.Wrap("exclusions not read", err)
}

// Exclusions lists the exclusions in force in a campaign; lifted ones are left out.
func (s *Roster) Exclusions(ctx context.Context, id engine.CampaignID) ([]journal.Exclusion, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT number, match, reason, created_at FROM exclusions
		WHERE campaign_id = $1 AND NOT lifted ORDER BY created_at, number`, string(id))
	list, err := pgx.CollectRows(rows, scanExclusion(id))
	return list, s.db.Wrap("exclusions not read", err)
}

func scanExclusion(id engine.CampaignID) pgx.RowToFunc[journal.Exclusion] {
	return func(row pgx.CollectableRow) (journal.Exclusion, error) {
		x := journal.Exclusion{Campaign: id}
		err := row.Scan(&x.Number, &x.Match, &x.Reason, &x.CreatedAt)
		if len(x.Match) == 0 {
			x.Match = nil
		}
		return x, err
	}
}
