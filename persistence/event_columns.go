package persistence

import (
	"encoding/json"
	"time"

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

var tellApart = tellEvents(chanceSlot)
