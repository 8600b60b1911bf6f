package persistence

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine/chain"
	"dialler/engine/journal"
)

// eventRow is an event with what is worked out of it once for its row.
type eventRow struct {
	*journal.Event
	data   []byte // JSON of Data
	leg    int
	digest chain.Hash
}

// eventColumns is the one mapping of an event.
var eventColumns = []column[eventRow]{
	text("campaign_id", func(e *eventRow) *string { return (*string)(&e.Campaign) }),
	bigint("seq", func(e *eventRow) *int64 { return &e.Seq }),
	integer("run", func(e *eventRow) *int { return &e.Run }),
	instant("at", func(e *eventRow) *time.Time { return &e.At }),
	text("type", func(e *eventRow) *journal.Type { return &e.Type }),
	integer("version", func(e *eventRow) *int { return &e.Version }),
	identifier("contact_id", func(e *eventRow) *string { return (*string)(&e.Contact) }),
	identifier("attempt_id", func(e *eventRow) *string { return (*string)(&e.Attempt) }),
	derived("leg", typeInt4, func(w *array, e *eventRow) { w.int4(int64(e.leg)) }),
	// What the activity log shows: whatever somebody did.
	derived("activity", typeBool, func(w *array, e *eventRow) { w.bool(e.activity()) }),
	{name: "data", typ: typeJSON,
		put:  func(a *array, e *eventRow) error { a.jsonb(e.data); return nil },
		into: func(e *eventRow) any { return &e.Data }},
	derived("digest", typeBytea, func(w *array, e *eventRow) { w.bytea(e.digest[:]) }),
}

func (e *eventRow) activity() bool { return e.Event.Data.Who != nil }

// newEventRow works out what is stored of an event beside its fields, with the
// digest of the row as it will be read again. The text is made in a buffer that
// is given back for the next.
func newEventRow(e *journal.Event, text []byte) (row eventRow, _ []byte, err error) {
	row.Event = e
	if row.data, err = json.Marshal(&e.Data); err != nil {
		return row, text, err
	}
	row.data = cleanJSON(row.data)
	_, row.leg, _ = e.Data.Leg.Attempt()
	r := chain.Record{Campaign: e.Campaign, Run: e.Run, Seq: e.Seq, At: e.At, Type: string(e.Type), Version: e.Version,
		Contact: e.Contact, Attempt: e.Attempt, Leg: row.leg, Activity: row.activity(), Data: row.data}
	if !isID(string(e.Contact)) { // stored as null
		r.Contact = ""
	}
	if !isID(string(e.Attempt)) {
		r.Attempt = ""
	}
	if text, err = r.AppendText(text[:0]); err == nil {
		row.digest = chain.Digest(text)
	}
	return row, text, err
}

// queueEvents comes last of all rows: the head of a chain is locked until the
// commit, and whoever waits for it waits for nothing else.
func (t *commit) queueEvents() (err error) {
	events := t.g.rows.events
	if len(events) == 0 {
		return nil
	}
	b := &t.g.events
	b.reset(eventColumns, &t.g.shapes.events)
	links := t.g.links[:0]
	loose := false // one is of no campaign's sequence
	var row eventRow
	for _, e := range events {
		if row, t.g.text, err = newEventRow(e, t.g.text); err == nil {
			err = b.add(&row)
		}
		if err != nil {
			return err
		}
		links = append(links, link{campaign: clean(string(e.Campaign)), run: e.Run, seq: e.Seq, at: e.At.UnixMicro(), digest: row.digest})
		loose = loose || e.Seq <= 0
	}
	t.g.links = links
	slices.SortFunc(links, link.compare)
	if t.repeated || loose || chains(links) > chainsCap {
		t.queue("events", [][]byte{b.rows.param()}, nothing)
		return nil
	}
	t.queue("fresh events", [][]byte{b.rows.param()}, nothing)
	for len(links) > 0 {
		n := 1
		for n < len(links) && links[n].sameChain(&links[0]) {
			n++
		}
		t.queueBatch(links[:n])
		links = links[n:]
	}
	return nil
}

// queueBatch appends the events of one run to its chain.
func (t *commit) queueBatch(events []link) {
	seqs, digests := t.arrayOf(0, pgtype.Int8OID), t.g.text[:0]
	for i := range events {
		seqs.int8(events[i].seq)
		digests = append(digests, events[i].digest[:]...)
	}
	t.g.text = digests
	run := binary.BigEndian.AppendUint32(nil, uint32(int32(events[0].run))) //nolint:gosec // two's complement is the wire form
	t.queue("append batch", [][]byte{[]byte(events[0].campaign), run, seqs.param(), digests}, nothing)
}

// link is what an event's chain knows of it.
type link struct {
	campaign string
	run      int
	seq, at  int64 // at in microseconds
	digest   chain.Hash
}

func (l *link) sameChain(m *link) bool { return l.campaign == m.campaign && l.run == m.run }

// compare gives the order in which the statement for all chains takes events.
func (l link) compare(m link) int {
	return cmp.Or(cmp.Compare(l.campaign, m.campaign), cmp.Compare(l.run, m.run), cmp.Compare(l.seq, m.seq), cmp.Compare(l.at, m.at),
		bytes.Compare(l.digest[:], m.digest[:]))
}

// chains counts them; links are sorted.
func chains(links []link) (n int) {
	for i := range links {
		if i == 0 || !links[i].sameChain(&links[i-1]) {
			n++
		}
	}
	return n
}

var tellApart = tellEvents(chanceSlot)

// tell writes events outside a group commit, in the order of their sequence. It
// is the last that a transaction does: the head of the chain is locked from here
// on.
func (s *Store) tell(ctx context.Context, tx pgx.Tx, events ...journal.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]*eventRow, len(events))
	for i := range events {
		row, _, err := newEventRow(&events[i], nil)
		if err != nil {
			return err
		}
		rows[i] = &row
	}
	return execRows(ctx, tx, tellApart, eventColumns, &s.shapes.Load().events, rows...)
}
