package imports

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// ActivateImport makes the staged rows of an import contacts, in one transaction with its event and
// its report: positions ascend after the existing ones, the first row of a number wins, and
// excluded and suppressed rows are left out and listed.
//
// The rows are inserted first, which may take a while and locks nothing but their numbers. Then
// gate is called, and its answer decides: from then to the end of this call the caller blocks every
// exclusion, end of the run and other addition of contacts. Changes made before are applied to the
// inserted rows; the owner's epoch is checked; and everything commits. gate may be called again
// when the transaction has to be repeated.
//
// After an error nothing is known to be active; Import tells whether it is.
func (s *Files) ActivateImport(ctx context.Context, a journal.Activation, gate func(context.Context) (journal.Gate,
	error)) (out journal.Activated, err error) {
	err = s.inImport(a.Import, "import not activated", func(session *importSession) error {
		tag, err := session.conn.Exec(ctx, "UPDATE imports SET state = 'activating' WHERE id = $1 "+
			"AND state IN ('staging', 'activating')", string(a.Import))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return journal.ErrImportGone
		}
		for try := 1; ; try++ {
			err := pgx.BeginFunc(ctx, session.conn, func(tx pgx.Tx) error {
				t := activation{store: s, ctx: ctx, tx: tx, Activation: a, listed: session.rejected,
					rows: s.db.Written()}
				out, err = t.run(gate)
				return err
			})
			if pool.Yielded(err) && try < pool.TxTries {
				continue
			}
			return err
		}
	})
	return out, err
}

// CheckImport counts and lists what would become of the staged rows of an import if it were
// activated now, and ends the import.
func (s *Files) CheckImport(ctx context.Context, k journal.Check) (imp campaign.Import, err error) {
	err = s.inImport(k.Import, "import not checked", func(session *importSession) error {
		tag, err := session.conn.Exec(ctx, "UPDATE imports SET state = 'activating' WHERE id = $1 "+
			"AND state IN ('staging', 'activating')", string(k.Import))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return journal.ErrImportGone
		}
		for try := 1; ; try++ {
			err := pgx.BeginFunc(ctx, session.conn, func(tx pgx.Tx) error {
				t := activation{store: s, ctx: ctx, tx: tx, listed: session.rejected,
					Activation: journal.Activation{Import: k.Import, Campaign: k.Campaign, Staged: k.Staged,
						Sticky: k.Sticky, Since: k.Since, Layout: k.Layout}}
				imp, err = t.check(k.At)
				return err
			})
			if pool.Yielded(err) && try < pool.TxTries {
				continue
			}
			return err
		}
	})
	return imp, err
}

// activation is one try in one transaction.
type activation struct {
	journal.Activation
	store  *Files
	ctx    context.Context
	tx     pgx.Tx
	passes int
	base   int64 // the positions of its contacts come after it
	listed int   // rejected rows that are listed
	lifted []engine.PhoneNumber
	rows   *table.Rows
}

func (t *activation) exec(sql string, args ...any) (int, error) {
	tag, err := t.tx.Exec(t.ctx, sql, args...)
	return int(tag.RowsAffected()), err
}

func (t *activation) id() string { return string(t.Import) }

func (t *activation) run(gate func(context.Context) (journal.Gate, error)) (out journal.Activated, err error) {
	staged := t.Staged
	suppressed, refused, err := t.refuse()
	if err != nil {
		return out, err
	}
	added, err := t.insert()
	if err == nil {
		err = t.written()
	}
	if err != nil {
		return out, err
	}
	duplicates := staged - suppressed - refused - added
	if err := t.listDuplicates(duplicates); err != nil {
		return out, err
	}
	// Changes made during the insert are handled before anybody has to wait.
	withdrawn, inserted, err := t.withdraw()
	if err != nil {
		return out, err
	}
	if err := t.listRefused(); err != nil {
		return out, err
	}

	g, err := gate(t.ctx)
	if err != nil {
		return out, err
	}
	late, lateInserted, err := t.withdraw()
	if err != nil {
		return out, err
	}
	if late > 0 {
		if err := t.listRefused(); err != nil {
			return out, err
		}
	}
	// A withdrawn row that was never inserted has been counted as a duplicate.
	counts := campaign.Import{
		Added:     added - inserted - lateInserted,
		Duplicate: duplicates - (withdrawn - inserted) - (late - lateInserted),
		Excluded:  suppressed + refused + withdrawn + late,
	}
	if err := t.lift(g); err != nil {
		return out, err
	}
	if err := t.checkEpoch(g.Epoch); err != nil {
		return out, err
	}
	out.Lifted = t.lifted
	if out.Readmit, err = t.readmit(); err != nil {
		return out, err
	}
	counts.Readmitted = len(out.Readmit)
	out.Import, err = t.finish(g, counts)
	return out, err
}

// refuse marks the rows that the suppression list or an exclusion refuses.
func (t *activation) refuse() (suppressed, excluded int, err error) {
	// The rows are sorted once and joined twice; the default is meant for small queries.
	if _, err := t.exec("SET LOCAL work_mem = '64MB'"); err != nil {
		return 0, 0, err
	}
	var staged int
	if err := t.tx.QueryRow(t.ctx, "SELECT count(*) FROM import_rows WHERE import_id = $1",
		t.id()).Scan(&staged); err != nil {
		return 0, 0, err
	}
	if staged != t.Staged {
		return 0, 0, journal.ErrImportLost
	}
	suppressed, err = t.refuseSuppressed()
	if err != nil {
		return 0, 0, err
	}
	excluded, err = t.exclude("excluded")
	return suppressed, excluded, err
}

// check is a run without inserting contacts.
func (t *activation) check(at time.Time) (imp campaign.Import, err error) {
	suppressed, refused, err := t.refuse()
	if err != nil {
		return imp, err
	}
	if err := t.listRefused(); err != nil {
		return imp, err
	}
	duplicates, err := t.exec(`UPDATE import_rows r SET outcome = 'duplicate' FROM (
			SELECT d.line, row_number() OVER (PARTITION BY d.number ORDER BY d.line) > 1
				OR EXISTS (SELECT FROM contacts c WHERE c.campaign_id = $2 AND c.number = d.number) AS known
			FROM import_rows d WHERE d.import_id = $1 AND d.outcome IS NULL
		) k WHERE r.import_id = $1 AND r.line = k.line AND k.known`, t.id(), string(t.Campaign))
	if err != nil {
		return imp, err
	}
	if left := campaign.RejectedCap - t.listed; left > 0 {
		if _, err := t.exec(listDuplicates+`WHERE r.import_id = $1 AND r.outcome = 'duplicate' ORDER BY r.line
			LIMIT $3`,
			t.id(), campaign.RejectedDuplicate, left); err != nil {
			return imp, err
		}
	}
	readmitted, err := t.readmitted()
	if err != nil {
		return imp, err
	}
	return t.report(campaign.ImportChecked, at, campaign.Import{Readmitted: readmitted,
		Added: t.Staged - suppressed - refused - duplicates, Duplicate: duplicates, Excluded: suppressed + refused})
}

// refuseSuppressed marks the rows of people whose numbers are all on the suppression list, as they are or as
// those of erased persons who must not be called.
func (t *activation) refuseSuppressed() (rows int, err error) {
	var erased bool
	err = t.tx.QueryRow(t.ctx, "SELECT EXISTS (SELECT FROM suppressions WHERE starts_with(number, $1) AND until IS NULL)",
		table.HashPrefix).Scan(&erased)
	if err != nil {
		return 0, err
	}
	refuse := func(first, forms string, args ...any) (int, error) {
		return t.exec(`UPDATE import_rows r SET outcome = 'suppressed' FROM suppressions x WHERE r.import_id = $1
			AND r.outcome IS NULL AND x.until IS NULL AND x.number = `+first+` AND (r.alternates = '' OR NOT EXISTS (
				SELECT FROM unnest(`+table.NumbersAfterFirst("r")+`) o(number) WHERE NOT EXISTS (
					SELECT FROM suppressions s WHERE s.until IS NULL AND s.number IN (`+forms+`))))`,
			append([]any{t.id()}, args...)...)
	}
	if !erased {
		return refuse("r.number", "o.number")
	}
	hash := func(column string) string { return table.HashInSQL(column, "$2", "$3") }
	inner, outer := t.store.db.HashPads()
	forms := "o.number, " + hash("o.number")
	if rows, err = refuse("r.number", forms, inner, outer); err != nil {
		return rows, err
	}
	more, err := refuse(hash("r.number"), forms, inner, outer)
	return rows + more, err
}

// otherNumbers are the numbers of an import's rows after the first, each with its row.
var otherNumbers = `SELECT r.line, o.number
	FROM import_rows r, LATERAL unnest(` + table.NumbersAfterFirst("r") + `) o(number)
	WHERE r.import_id = $1 AND r.outcome IS NULL AND r.alternates <> ''`

// exclude marks the rows covered by an exclusion that no earlier pass has applied, and returns
// their number.
func (t *activation) exclude(outcome string) (rows int, err error) {
	t.passes++
	fresh, err := t.exec(`INSERT INTO import_exclusions (import_id, pass, number, match)
		SELECT $1, $2, x.number, x.match FROM exclusions x
		WHERE x.campaign_id = $3 AND NOT x.lifted AND ($4 OR x.created_at >= $5)
			AND NOT EXISTS (SELECT FROM import_exclusions a WHERE a.import_id = $1 AND a.number = x.number
			AND a.match = x.match)`,
		t.id(), t.passes, string(t.Campaign), t.Sticky, t.Since)
	if err != nil || fresh == 0 {
		return 0, err
	}
	byNumber, err := t.exec(`UPDATE import_rows r SET outcome = $3 FROM import_exclusions x
		WHERE r.import_id = $1 AND r.outcome IS NULL AND x.import_id = $1 AND x.pass = $2 AND x.number <> ''
		AND x.number = r.number`, t.id(), t.passes, outcome)
	if err != nil {
		return byNumber, err
	}
	byOther, err := t.exec(`WITH hit AS MATERIALIZED (`+otherNumbers+`)
		UPDATE import_rows r SET outcome = $3 FROM hit, import_exclusions x
		WHERE r.import_id = $1 AND r.outcome IS NULL AND r.line = hit.line AND x.import_id = $1 AND x.pass = $2
		AND x.number = hit.number`, t.id(), t.passes, outcome)
	if byNumber += byOther; err != nil {
		return byNumber, err
	}
	var matches bool
	err = t.tx.QueryRow(t.ctx, `SELECT EXISTS (SELECT FROM import_exclusions x
		WHERE x.import_id = $1 AND x.pass = $2 AND x.number = '' AND x.match <> '{}')`, t.id(), t.passes).Scan(&matches)
	if err != nil || !matches {
		return byNumber, err
	}
	// There may be thousands of exclusions: rows and exclusions are joined on the first pair of
	// each exclusion, and the rest is compared only then. The planner does not know how many rows
	// there are: with nested loops it compared each row with each exclusion.
	if _, err := t.exec("SET LOCAL enable_nestloop = off"); err != nil {
		return byNumber, err
	}
	byMatch, err := t.exec(`WITH wanted AS MATERIALIZED (
			SELECT x.match, p.key, p.value FROM import_exclusions x,
				LATERAL (SELECT e.key, e.value FROM jsonb_each_text(x.match) e ORDER BY e.key LIMIT 1) p
			WHERE x.import_id = $1 AND x.pass = $2 AND x.number = '' AND x.match <> '{}'
		), hit AS MATERIALIZED (
			SELECT DISTINCT r.line FROM import_rows r, LATERAL jsonb_each_text(r.variables) v, wanted w
			WHERE r.import_id = $1 AND r.outcome IS NULL AND w.key = v.key AND w.value = v.value
			AND r.variables @> w.match
		)
		UPDATE import_rows r SET outcome = $3 FROM hit WHERE r.import_id = $1 AND r.line = hit.line`, t.id(), t.passes,
		outcome)
	if err == nil {
		_, err = t.exec("SET LOCAL enable_nestloop = on")
	}
	return byNumber + byMatch, err
}

// insert makes contacts of the accepted rows. No statement joins the rows that it makes: they have
// no statistics yet, so the planner expected a few of them and joined each with each.
func (t *activation) insert() (added int, err error) {
	err = t.tx.QueryRow(t.ctx, "SELECT coalesce(max(position), 0) FROM contacts WHERE campaign_id = $1",
		string(t.Campaign)).Scan(&t.base)
	if err != nil {
		return 0, err
	}
	added, err = t.exec(`INSERT INTO contacts (id, campaign_id, number, position, source, run, state, max, due_at,
			due_class, created_at, updated_at, version, not_before, expires_at, precedence, alternates)
			SELECT r.id, $2, r.number, $8 + r.line, $3, $4,
			'`+string(contact.Pending)+`', $5, greatest($6, r.not_before), $7, $6, $6, 1,
				r.not_before, r.expires_at, r.precedence, r.alternates
			FROM import_rows r WHERE r.import_id = $1 AND r.outcome IS NULL ORDER BY r.line
			ON CONFLICT (campaign_id, number) DO NOTHING`, t.id(), string(t.Campaign), t.Source, t.Run, t.Max, t.At,
		int(t.DueClass), t.base)
	if err != nil {
		return 0, err
	}
	_, err = t.exec(`INSERT INTO contact_variables (contact_id, hash, variables)
		SELECT r.id, r.hash, r.variables FROM import_rows r WHERE r.import_id = $1 AND r.outcome IS NULL
		AND r.variables IS NOT NULL
			AND (SELECT true FROM contacts c WHERE c.id = r.id)`, t.id())
	return added, err
}

// withdraw takes back inserted rows that an exclusion covers by now. rows counts the rows covered,
// inserted those of them that had become contacts.
func (t *activation) withdraw() (rows, inserted int, err error) {
	if rows, err = t.exclude("withdrawn"); err != nil || rows == 0 {
		return rows, 0, err
	}
	const ofRows = " IN (SELECT r.id FROM import_rows r WHERE r.import_id = $1 AND r.outcome = 'withdrawn')"
	of := table.Owner{Campaign: string(t.Campaign), Run: t.Run}
	if err = t.rows.Remove(t.ctx, t.tx, of, table.PartVariables, "t.contact_id"+ofRows, t.id()); err == nil {
		err = t.rows.Remove(t.ctx, t.tx, of, table.PartContact, "t.id"+ofRows, t.id())
	}
	if err != nil {
		return rows, 0, err
	}
	const mine = "USING import_rows r WHERE r.import_id = $1 AND r.outcome = 'withdrawn' AND "
	if _, err = t.exec("DELETE FROM contact_variables v "+mine+"v.contact_id = r.id", t.id()); err != nil {
		return rows, 0, err
	}
	if inserted, err = t.exec("DELETE FROM contacts c "+mine+"c.id = r.id", t.id()); err != nil || inserted == 0 {
		return rows, inserted, err
	}
	_, err = t.exec(`WITH gone AS MATERIALIZED (SELECT array_agg(r.id) AS ids FROM import_rows r
			WHERE r.import_id = $2 AND r.outcome = 'withdrawn')
		`+strings.ReplaceAll(table.BlankSearched, "$2::uuid[]", "(SELECT ids FROM gone)"), string(t.Campaign), t.id())
	return rows, inserted, err
}

const listDuplicates = `INSERT INTO import_rejected (import_id, line, number, reason, message, record)
		SELECT $1, r.line, r.number, $2, CASE WHEN EXISTS (SELECT FROM import_rows e
				WHERE e.import_id = $1 AND e.number = r.number AND e.line < r.line)
			THEN 'the number stands on an earlier line of the file'
				ELSE 'the campaign has a contact with this number' END, r.record
		FROM import_rows r `

func (t *activation) listDuplicates(n int) error {
	if n <= 0 || t.listed >= campaign.RejectedCap {
		return nil
	}
	listed, err := t.exec(listDuplicates+`LEFT JOIN contacts c ON c.id = r.id
		WHERE r.import_id = $1 AND r.outcome IS NULL AND c.id IS NULL ORDER BY r.line LIMIT $3`,
		t.id(), campaign.RejectedDuplicate, campaign.RejectedCap-t.listed)
	t.listed += listed
	return err
}

// listRefused lists the rows refused by exclusions or the suppression list. A withdrawn row may be
// listed as a duplicate already.
func (t *activation) listRefused() error {
	if t.listed >= campaign.RejectedCap {
		return nil
	}
	listed, err := t.exec(`INSERT INTO import_rejected (import_id, line, number, reason, message, record)
		SELECT $1, r.line, r.number, CASE r.outcome WHEN 'suppressed' THEN $2 ELSE $3 END,
			CASE r.outcome WHEN 'suppressed' THEN 'the number is on the suppression list'
				ELSE 'the contact is excluded from this campaign' END, r.record
		FROM import_rows r WHERE r.import_id = $1 AND r.outcome IS NOT NULL AND (r.outcome = 'withdrawn'
			OR NOT EXISTS (SELECT FROM import_rejected e WHERE e.import_id = $1 AND e.line = r.line))
		ORDER BY r.line LIMIT $4
		ON CONFLICT (import_id, line) DO UPDATE SET reason = excluded.reason, message = excluded.message`,
		t.id(), campaign.RejectedSuppressed, campaign.RejectedExcluded, campaign.RejectedCap-t.listed)
	t.listed += listed
	return err
}

// lift undoes, unless Sticky Exclusion is on, the earlier exclusions of the numbers that were added
// on purpose.
func (t *activation) lift(g journal.Gate) error {
	if t.Sticky {
		return nil
	}
	for _, numbers := range []string{"SELECT r.line, r.number FROM import_rows r WHERE r.import_id = $1 " +
		"AND r.outcome IS NULL", otherNumbers} {
		rows, _ := t.tx.Query(t.ctx, `UPDATE exclusions x SET lifted = true, created_at = $3
			FROM (`+numbers+`) n, import_rows r, contacts c
			WHERE x.campaign_id = $2 AND NOT x.lifted AND x.number <> '' AND n.number = x.number
				AND r.import_id = $1 AND r.line = n.line
				AND c.campaign_id = $2 AND c.number = r.number AND (c.id = r.id OR c.state = 'excluded')
			RETURNING x.number`, t.id(), string(t.Campaign), g.Event.At)
		lifted, err := pgx.CollectRows(rows, pgx.RowTo[engine.PhoneNumber])
		if err != nil {
			return err
		}
		t.lifted = append(t.lifted, lifted...)
	}
	return nil
}

// readmit lists the rows of contacts that were excluded before the import began
// and are added again on purpose.
func (t *activation) readmit() ([]campaign.NewContact, error) {
	if t.Sticky {
		return nil, nil
	}
	rows, _ := t.tx.Query(t.ctx, `SELECT DISTINCT ON (r.number) r.number, r.variables, r.not_before, r.expires_at,
			nullif($5 - r.precedence, $5), r.alternates FROM import_rows r
		JOIN contacts c ON `+readmits+`
		WHERE r.import_id = $1 AND r.outcome IS NULL AND c.id <> r.id
		ORDER BY r.number, r.line LIMIT $4`, t.id(), string(t.Campaign), t.Since, journal.ReadmitCap,
		contact.DefaultPriority)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c campaign.NewContact, err error) {
		err = row.Scan(&c.Number, &c.Variables, &c.Times.NotBefore, &c.Times.ExpiresAt, &c.Times.Priority, &c.Alternates)
		return c, err
	})
}

// readmits is the condition that adding row r makes contact c callable again.
const readmits = "c.campaign_id = $2 AND c.number = r.number AND c.state = 'excluded' AND c.updated_at < $3"

// readmitted counts the contacts that readmit would list, of rows that a check found to be duplicates.
func (t *activation) readmitted() (n int, err error) {
	if t.Sticky {
		return 0, nil
	}
	err = t.tx.QueryRow(t.ctx, "SELECT least(count(DISTINCT r.number), $4) FROM import_rows r JOIN contacts c ON "+
		readmits+" WHERE r.import_id = $1 AND r.outcome = 'duplicate'", t.id(), string(t.Campaign), t.Since,
		journal.ReadmitCap).Scan(&n)
	return n, err
}

// checkEpoch ensures that the gate's owner owns the campaign until the commit: a takeover waits for
// this lock.
func (t *activation) checkEpoch(epoch int64) error {
	rows, _ := t.tx.Query(t.ctx, "SELECT epoch FROM campaigns WHERE id = $1 FOR KEY SHARE", string(t.Campaign))
	stored, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	switch {
	case err != nil:
		return err
	case len(stored) == 0:
		return table.ErrCampaignNotFound
	case stored[0] != epoch:
		return t.store.db.Epochs.Stale(t.Campaign, stored[0])
	}
	return nil
}

// finish writes the event and the report.
func (t *activation) finish(g journal.Gate, counts campaign.Import) (imp campaign.Import, err error) {
	if imp, err = t.report(campaign.ImportActive, g.Event.At, counts); err != nil {
		return imp, err
	}
	if err := t.settled(); err != nil {
		return imp, err
	}
	if err := t.mark(counts.Duplicate); err != nil {
		return imp, err
	}
	var events []journal.Event
	if counts.Added > 0 {
		ev := g.Event
		ev.Data.Count = counts.Added
		events = append(events, ev)
	}
	// Last: it takes the head of the campaign's chain.
	return imp, t.store.db.TellWritten(t.ctx, t.tx, t.rows, events...)
}

// mark notes which contacts the import became, and which of others' it has named.
func (t *activation) mark(duplicates int) error {
	_, err := t.exec(`INSERT INTO import_contacts (import_id, campaign_id, run, added_at, first_position, last_position,
		reached) SELECT $1, $2, $3, $4, $5, $5 + coalesce(max(line), 0), $5 FROM import_rows WHERE import_id = $1`,
		t.id(), string(t.Campaign), t.Run, t.At, t.base)
	if err == nil && duplicates > 0 {
		_, err = t.exec(`INSERT INTO contact_mentions (contact_id) SELECT DISTINCT c.id FROM import_rows r
			JOIN contacts c ON c.campaign_id = $2 AND c.number = r.number
			WHERE r.import_id = $1 AND r.outcome IS NULL AND c.created_at <> $3 ON CONFLICT DO NOTHING`, t.id(),
			string(t.Campaign), t.At)
	}
	return err
}

// written adds the new contacts. That takes a while, so it is done before the gate.
func (t *activation) written() error {
	const mine = "= ANY(ARRAY(SELECT r.id FROM import_rows r WHERE r.import_id = $1 AND r.outcome IS NULL))"
	of := table.Owner{Campaign: string(t.Campaign), Run: t.Run}
	if err := t.rows.Add(t.ctx, t.tx, of, table.PartContact, "t.id "+mine, t.id()); err != nil {
		return err
	}
	return t.rows.Add(t.ctx, t.tx, of, table.PartVariables, "t.contact_id "+mine, t.id())
}

// settled adds what changed since the gate.
func (t *activation) settled() error {
	of := table.Owner{Campaign: string(t.Campaign)}
	if err := t.rows.Add(t.ctx, t.tx, of, table.PartImport, "t.id = $1", t.id()); err != nil || len(t.lifted) == 0 {
		return err
	}
	return t.rows.Add(t.ctx, t.tx, of, table.PartExclusion, "t.campaign_id = $1 AND t.number = ANY($2::text[])",
		string(t.Campaign), t.lifted)
}

// report ends the import.
func (t *activation) report(state campaign.ImportState, at time.Time, counts campaign.Import) (imp campaign.Import,
	err error) {
	if _, err := t.exec("DELETE FROM import_exclusions WHERE import_id = $1", t.id()); err != nil {
		return imp, err
	}
	rows, _ := t.tx.Query(t.ctx, `WITH i AS (UPDATE imports SET state = $6, added = $2, duplicate = $3, excluded = $4,
		finished_at = $5, encoding = $7, delimiter = $8, header = $9, readmitted = $10
		WHERE id = $1 AND state = 'activating' RETURNING *)
		SELECT `+importColumns+", NULL::jsonb FROM i", t.id(), counts.Added, counts.Duplicate, counts.Excluded, at,
		string(state), t.Layout.Encoding, t.Layout.Delimiter, column.Clean(t.Layout.Header), counts.Readmitted)
	list, err := pgx.CollectRows(rows, scanImport)
	if err == nil && len(list) == 0 {
		return imp, journal.ErrImportGone
	}
	if err != nil {
		return imp, err
	}
	return list[0], nil
}
