package commit

import (
	"dialler/engine/journal"
	"dialler/persistence/failure"
	"dialler/persistence/table"
)

// queueEvents comes after all other rows: it locks the heads of the chains until the commit, so that
// a transaction waiting for a head needs no further lock. In the fast path all events are new: if
// one is not, the group is tried again in the slow one.
func (t *commit) queueEvents(name string, answer func([][][]byte) error) (err error) {
	events := t.g.rows.events
	t.g.links = t.g.links[:0] // of the group before
	if len(events) == 0 {
		return nil
	}
	b := &t.g.events
	b.Reset(table.EventColumns, &t.g.shapes.Events)
	var row table.EventRow
	for _, e := range events {
		if row, t.g.text, err = table.NewEventRow(e, t.g.text); err == nil {
			err = b.Add(&row)
		}
		if err != nil {
			return err
		}
		t.g.links = append(t.g.links, row.Link(t.slot()))
	}
	t.queue(name, [][]byte{b.Param()}, answer)
	return nil
}

// slot is the slot of this connection's chains outside a campaign's sequence.
func (t *commit) slot() int { return table.OwnSlot(t.conn.PID()) }

// queueBatches appends the events and the digests of the rows to their chains.
func (t *commit) queueBatches() {
	batches := table.Batches(t.g.links, t.written.Loose(table.LooseChain(t.now, t.slot())))
	for i := range batches {
		t.queue("append batch", batches[i].Params(t.written.Digester()), nothing)
	}
}

// storeApart stores a group that holds what is rarely written, or that may be stored in part: the
// digests of its rows are made of what the database then has, and of its events only those get
// into a batch that were not there.
func (t *commit) storeApart() error {
	if err := t.send(); err != nil {
		return err
	}
	if err := t.readBack(); err != nil {
		return err
	}
	var inserted []table.Link
	err := t.queueEvents("told events", func(rows [][][]byte) error {
		for _, r := range rows {
			inserted = append(inserted, table.ReadLink(r, t.slot()))
		}
		return nil
	})
	if err != nil {
		return &failure.Unencodable{Err: err}
	}
	if err := t.send(); err != nil {
		return err
	}
	t.g.links = inserted
	t.queueBatches()
	return t.finish()
}

// readBack adds rows as the database has them now.
func (t *commit) readBack() error {
	r := &t.g.rows
	for _, c := range r.kept {
		of := table.Owner{Campaign: string(c.Campaign), Run: c.Run}
		err := t.written.Add(t.ctx, t.pgx, of, table.PartKept, "t.campaign_id = $1 AND t.run = $2 AND t.id = $3",
			string(c.Campaign), c.Run, string(c.ID))
		if err != nil {
			return err
		}
	}
	for _, x := range r.exclusions {
		err := t.written.Add(t.ctx, t.pgx, table.Owner{Campaign: string(x.Campaign)}, table.PartExclusion,
			"t.campaign_id = $1 AND t.number = $2 AND t.match = $3", string(x.Campaign), string(x.Number), matchOf(x))
		if err != nil {
			return err
		}
	}
	numbers := make([]string, len(r.suppressions))
	for i, x := range r.suppressions {
		numbers[i] = string(x.Number)
	}
	if len(numbers) > 0 {
		err := t.written.Add(t.ctx, t.pgx, table.Owner{}, table.PartSuppression, "t.number = ANY($1::text[])", numbers)
		if err != nil {
			return err
		}
	}
	for _, s := range t.swept {
		of := table.Owner{Campaign: string(s.event.Campaign), Run: s.event.Run}
		err := t.written.Add(t.ctx, t.pgx, of, table.PartContact, "t.id = ANY($1::uuid[])", s.contacts)
		if err != nil {
			return err
		}
		r.events = append(r.events, s.event)
	}
	return nil
}

// swept is what a sweep changed.
type swept struct {
	event    *journal.Event
	contacts [][16]byte
}
