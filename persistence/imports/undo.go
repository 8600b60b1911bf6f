package imports

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
	"dialler/persistence/table"
)

// made are the contacts that an import became, and how far they have been taken back.
type made struct {
	imp         campaign.Import
	run         int
	at          time.Time
	first, last int64 // positions
	reached     int64
	seq         int64
}

// undoable reads an import whose contacts can be taken back in the campaign's run; lock is FOR UPDATE or "".
func undoable(ctx context.Context, tx table.Querier, id engine.CampaignID, of engine.ImportID, run int,
	lock string) (m made, err error) {
	if !column.IsID(string(of)) {
		return m, ErrImportNotFound
	}
	rows, _ := tx.Query(ctx, selectImport+"WHERE i.id = $1 AND i.campaign_id = $2", string(of), string(id))
	m.imp, err = pgx.CollectExactlyOneRow(rows, scanImport)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return m, ErrImportNotFound
	case err != nil:
		return m, err
	case m.imp.State != campaign.ImportActive:
		return m, journal.ErrImportNotActive
	}
	rows, _ = tx.Query(ctx, "SELECT run, added_at, first_position, last_position, reached, seq, undo "+
		"FROM import_contacts WHERE import_id = $1 "+lock, string(of))
	_, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (none struct{}, err error) {
		return none, row.Scan(&m.run, &m.at, &m.first, &m.last, &m.reached, &m.seq, &m.imp.Undo)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return m, journal.ErrImportUnmarked
	case err == nil && m.run != run && m.imp.Undo == nil:
		return m, journal.ErrImportOlder
	}
	return m, err
}

// mine is the SQL condition that a contact c at one of an import's positions is of the import, which made it
// at $2.
const mine = "(c.source = '" + contact.SourceFile + "' AND c.created_at = $2)"

// TakeBack takes back a page of an import: the contacts that go, what is known of them, and the event that
// counts them are written in one transaction. Contacts stay locked while they are judged.
func (s *Files) TakeBack(ctx context.Context, t journal.TakeBack) (out journal.TakenBack, err error) {
	err = s.db.InTx(ctx, "import not taken back", func(tx pgx.Tx) error {
		out, err = s.takeBack(ctx, tx, &t)
		return err
	})
	return out, err
}

func (s *Files) takeBack(ctx context.Context, tx pgx.Tx, t *journal.TakeBack) (out journal.TakenBack, err error) {
	if _, err = tx.Exec(ctx, table.LockSearched); err != nil {
		return out, err
	}
	rows, _ := tx.Query(ctx, "SELECT epoch FROM campaigns WHERE id = $1 FOR NO KEY UPDATE", string(t.Campaign))
	epoch, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return out, table.ErrCampaignNotFound
	case err != nil:
		return out, err
	case epoch != t.Epoch:
		return out, s.db.Epochs.Stale(t.Campaign, epoch)
	}
	m, err := undoable(ctx, tx, t.Campaign, t.Import, t.Run, "FOR UPDATE")
	if err != nil {
		return out, err
	}
	undo := m.imp.Undo
	switch {
	case undo == nil:
		undo = t.Begin()
		m.imp.Undo = undo
	case undo.State == campaign.UndoDone || t.Seq <= m.seq:
		out.Undo = *undo
		out.Event.Data.Moves, err = movesAt(ctx, tx, t, m.seq)
		return out, err
	}
	gone, moves, over, err := judge(ctx, tx, t, &m)
	if err != nil {
		return out, err
	}
	if over {
		undo.State, undo.FinishedAt = campaign.UndoDone, &t.At
	}
	written := s.db.Written()
	if err := s.remove(ctx, tx, written, t, gone); err != nil {
		return out, err
	}
	if _, err := tx.Exec(ctx, "UPDATE import_contacts SET undo = $2, reached = $3, seq = $4 WHERE import_id = $1",
		string(t.Import), undo, m.reached, t.Seq); err != nil {
		return out, err
	}
	out.Undo, out.Event.Data.Moves = *undo, moves
	// Last: it takes the head of the campaign's chain.
	return out, s.db.TellWritten(ctx, tx, written, t.Events(&m.imp, moves)...)
}

// movesAt are the moves of a page that was stored before, if it was the latest.
func movesAt(ctx context.Context, tx pgx.Tx, t *journal.TakeBack, latest int64) (moves []journal.Move, err error) {
	if t.Seq != latest {
		return nil, nil
	}
	var data []byte
	err = tx.QueryRow(ctx, "SELECT data FROM events WHERE campaign_id = $1 AND seq = $2", string(t.Campaign),
		t.Seq).Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil // nobody went
	}
	var d journal.Data
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	return d.Moves, err
}

// judge counts the contacts of the next page in m and returns those that go, with their moves; over says that
// it is the last page.
func judge(ctx context.Context, tx pgx.Tx, t *journal.TakeBack, m *made) (gone []string, moves []journal.Move,
	over bool, err error) {
	if m.run != t.Run {
		return nil, nil, true, nil // the campaign was restarted before all were looked at
	}
	except := make(map[engine.ContactID]bool, len(t.Except))
	for _, id := range t.Except {
		except[id] = true
	}
	rows, _ := tx.Query(ctx, "SELECT "+column.Names(table.ContactColumns, "c")+", "+mine+`, m.contact_id IS NOT NULL
		FROM contacts c LEFT JOIN contact_mentions m ON m.contact_id = c.id
		WHERE c.campaign_id = $1 AND c.position > $3 AND c.position <= $4 ORDER BY c.position LIMIT $5
		FOR UPDATE OF c`, string(t.Campaign), m.at, m.reached, m.last, t.Limit)
	defer rows.Close()
	kinds := map[contact.Facts]int{}
	var c contact.Contact
	var own, named bool
	n := 0
	for ; rows.Next(); n++ {
		c = contact.Contact{}
		if err := rows.Scan(append(column.Targets(table.ContactColumns, &c, nil), &own, &named)...); err != nil {
			return nil, nil, false, err
		}
		m.reached = c.Position
		if !own {
			continue
		}
		as := c.Trace(named).Stay()
		if as == contact.Goes && except[c.ID] {
			as = contact.StayInCall
		}
		if m.imp.Undo.Count(as, 1); as != contact.Goes {
			continue
		}
		gone = append(gone, string(c.ID))
		f := c.Facts()
		at, known := kinds[f]
		if !known {
			at = len(moves)
			kinds[f], moves = at, append(moves, journal.Move{Before: &f})
		}
		moves[at].Count++
	}
	return gone, moves, n < t.Limit, rows.Err()
}

// remove deletes contacts with what repeats them.
func (s *Files) remove(ctx context.Context, tx pgx.Tx, written *table.Rows, t *journal.TakeBack, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	of := table.Owner{Campaign: string(t.Campaign), Run: t.Run}
	err := written.Remove(ctx, tx, of, table.PartVariables, "t.contact_id = ANY($1::uuid[])", gone)
	if err == nil {
		err = written.Remove(ctx, tx, of, table.PartContact, "t.id = ANY($1::uuid[])", gone)
	}
	for _, sql := range []string{"DELETE FROM contact_variables WHERE contact_id = ANY($1::uuid[])",
		"DELETE FROM contact_mentions WHERE contact_id = ANY($1::uuid[])",
		"DELETE FROM contacts WHERE id = ANY($1::uuid[])"} {
		if err == nil {
			_, err = tx.Exec(ctx, sql, gone)
		}
	}
	if err == nil {
		_, err = tx.Exec(ctx, table.BlankSearched, string(t.Campaign), gone)
	}
	return err
}

// OpenUndo returns the import of a campaign that is being taken back, "" if none is.
func (s *Files) OpenUndo(ctx context.Context, id engine.CampaignID) (of engine.ImportID, err error) {
	err = s.db.Read.QueryRow(ctx, `SELECT import_id FROM import_contacts WHERE campaign_id = $1
		AND undo->>'state' = 'in_progress' LIMIT 1`, string(id)).Scan(column.Hex(&of))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return of, s.db.Wrap("import that is taken back not read", err)
}

// UndoPreview counts what TakeBack would do now, but for contacts that are about to be dialled. The contacts are
// grouped by what contact.Trace says of them.
func (s *Files) UndoPreview(ctx context.Context, id engine.CampaignID, of engine.ImportID) (n campaign.UndoCounts,
	err error) {
	var run int
	err = s.db.Read.QueryRow(ctx, "SELECT run FROM campaigns WHERE id = $1", string(id)).Scan(&run)
	if errors.Is(err, pgx.ErrNoRows) {
		return n, table.ErrCampaignNotFound
	}
	var m made
	if err == nil {
		m, err = undoable(ctx, s.db.Read, id, of, run, "")
	}
	var refused *engine.Error
	if errors.As(err, &refused) {
		return n, err
	}
	if err != nil {
		return n, s.db.Wrap("import not read", err)
	}
	rows, _ := s.db.Read.Query(ctx, `SELECT c.attempt_id IS NOT NULL,
			c.used > 0 OR c.unconsumed > 0 OR c.tries <> 0 OR c.last_outcome <> '',
			c.state = 'excluded' OR c.exclude_after_call OR c.choice & $5 <> 0,
			c.callback <> '' OR c.callbacks_cancelled > 0, m.contact_id IS NOT NULL OR c.calls_back IS NOT NULL,
			c.state, count(*)
		FROM contacts c LEFT JOIN contact_mentions m ON m.contact_id = c.id
		WHERE c.campaign_id = $1 AND `+mine+` AND c.position > $3 AND c.position <= $4 GROUP BY 1, 2, 3, 4, 5, 6`,
		string(id), m.at, m.first, m.last, int(contact.ChoiceStopped))
	var t contact.Trace
	var count int
	_, err = pgx.ForEachRow(rows, []any{&t.InCall, &t.Dialled, &t.Excluded, &t.CallBack, &t.Named, &t.State, &count},
		func() error { n.Count(t.Stay(), count); return nil })
	return n, s.db.Wrap("contacts of an import not counted", err)
}
