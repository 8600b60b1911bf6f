package persistence

import (
	"time"

	"dialler/engine/journal"
)

type eventRow = journal.Event

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
	derived("leg", typeInt4, func(w *array, e *eventRow) {
		_, n, _ := e.Data.Leg.Attempt()
		w.int4(int64(n))
	}),
	// What the activity log shows: whatever somebody did.
	derived("activity", typeBool, func(w *array, e *eventRow) { w.bool(e.Data.Who != nil) }),
	object("data", func(e *eventRow) *journal.Data { return &e.Data }, always),
}
