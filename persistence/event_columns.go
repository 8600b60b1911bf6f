package persistence

import (
	"encoding/json"
	"time"

	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/persistence/column"
)

// eventRow is an event with what is worked out of it once for its row.
type eventRow struct {
	*journal.Event
	data   []byte // JSON of Data
	leg    int
	digest chain.Hash
}

// eventColumns is the one mapping of an event.
var eventColumns = []column.Of[eventRow]{
	column.Text("campaign_id", func(e *eventRow) *string { return (*string)(&e.Campaign) }),
	column.Bigint("seq", func(e *eventRow) *int64 { return &e.Seq }),
	column.Integer("run", func(e *eventRow) *int { return &e.Run }),
	column.Instant("at", func(e *eventRow) *time.Time { return &e.At }),
	column.Text("type", func(e *eventRow) *journal.Type { return &e.Type }),
	column.Integer("version", func(e *eventRow) *int { return &e.Version }),
	column.Identifier("contact_id", func(e *eventRow) *string { return (*string)(&e.Contact) }),
	column.Identifier("attempt_id", func(e *eventRow) *string { return (*string)(&e.Attempt) }),
	column.Derived("leg", column.TypeInt4, func(w *column.Array, e *eventRow) { w.Int4(int64(e.leg)) }),
	// What the activity log shows: whatever somebody did.
	column.Derived("activity", column.TypeBool, func(w *column.Array, e *eventRow) { w.Bool(e.activity()) }),
	{Name: "data", Typ: column.TypeJSON,
		Put:  func(a *column.Array, e *eventRow) error { a.JSONB(e.data); return nil },
		Into: func(e *eventRow) any { return &e.Data }},
	column.Derived("digest", column.TypeBytea, func(w *column.Array, e *eventRow) { w.Bytea(e.digest[:]) }),
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
		row.digest = chain.Digest(text)
	}
	return row, text, err
}

var tellApart = tellEvents(chanceSlot)
