package table

import (
	"encoding/json"
	"time"

	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

// EventRow is an event with the values derived once for its row.
type EventRow struct {
	*journal.Event
	data   []byte // JSON of Data
	leg    int
	Digest chain.Hash
}

// EventColumns is the only mapping of an event.
var EventColumns = []column.Of[EventRow]{
	column.Text("campaign_id", func(e *EventRow) *string { return (*string)(&e.Campaign) }),
	column.Bigint("seq", func(e *EventRow) *int64 { return &e.Seq }),
	column.Integer("run", func(e *EventRow) *int { return &e.Run }),
	column.Instant("at", func(e *EventRow) *time.Time { return &e.At }),
	column.Text("type", func(e *EventRow) *journal.Type { return &e.Type }),
	column.Integer("version", func(e *EventRow) *int { return &e.Version }),
	column.Identifier("contact_id", func(e *EventRow) *string { return (*string)(&e.Contact) }),
	column.Identifier("attempt_id", func(e *EventRow) *string { return (*string)(&e.Attempt) }),
	column.Derived("leg", column.TypeInt4, func(w *column.Array, e *EventRow) { w.Int4(int64(e.leg)) }),
	// What the activity log shows: every action by a person.
	column.Derived("activity", column.TypeBool, func(w *column.Array, e *EventRow) { w.Bool(e.activity()) }),
	{Name: "data", Typ: column.TypeJSON,
		Put:  func(a *column.Array, e *EventRow) error { a.JSONB(e.data); return nil },
		Into: func(e *EventRow) any { return &e.Data }},
	column.Derived("digest", column.TypeBytea, func(w *column.Array, e *EventRow) { w.Bytea(e.Digest[:]) }),
}

func (e *EventRow) activity() bool { return e.Event.Data.Who != nil }

// Link is what the event's batch needs of it.
func (e *EventRow) Link(slot int) Link {
	l := NewLink(column.Clean(string(e.Campaign)), e.Run, e.Seq, e.At, e.Digest, slot)
	column.ParseID(string(e.Attempt), &l.Attempt)
	return l
}

// NewEventRow derives what is stored of an event beside its fields, including the digest of the row
// as it will be read back. The text is built in a buffer that is returned for the next event.
func NewEventRow(e *journal.Event, text []byte) (row EventRow, _ []byte, err error) {
	row.Event = e
	if row.data, err = json.Marshal(&e.Data); err != nil {
		return row, text, err
	}
	row.data = column.CleanJSON(row.data)
	_, row.leg, _ = e.Data.Leg.Attempt()
	r := chain.Record{Campaign: e.Campaign, Run: e.Run, Seq: e.Seq, At: e.At, Type: string(e.Type), Version: e.Version,
		Contact: e.Contact, Attempt: e.Attempt, Leg: row.leg, Activity: row.activity(), Data: row.data}
	if !column.IsID(string(e.Contact)) { // stored as null
		r.Contact = ""
	}
	if !column.IsID(string(e.Attempt)) {
		r.Attempt = ""
	}
	if text, err = r.AppendText(text[:0]); err == nil {
		row.Digest = chain.Digest(text)
	}
	return row, text, err
}

var SelectEvent = "SELECT " + column.Names(EventColumns, "e") + " FROM events e "

func ScanEvent(row pgx.CollectableRow) (e journal.Event, err error) {
	err = row.Scan(column.Targets(EventColumns, &EventRow{Event: &e}, nil)...)
	return e, err
}
