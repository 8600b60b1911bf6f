package persistence

import (
	"math/bits"
	"time"

	"dialler/engine/contact"

	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

type contactRow = contact.Contact

// contactColumns is the one mapping of a contact. Its variables stand in
// contact_variables.
var contactColumns = []column.Of[contactRow]{
	column.Identifier("id", func(c *contactRow) *string { return (*string)(&c.ID) }),
	column.Immutable(column.Text("campaign_id", func(c *contactRow) *string { return (*string)(&c.Campaign) })),
	column.Immutable(column.Text("number", func(c *contactRow) *string { return (*string)(&c.Number) })),
	column.Bigint("position", func(c *contactRow) *int64 { return &c.Position }),
	column.Text("source", func(c *contactRow) *string { return &c.Source }),
	column.Integer("run", func(c *contactRow) *int { return &c.Run }),
	column.Text("state", func(c *contactRow) *contact.State { return &c.State }),
	column.Text("reason", func(c *contactRow) *string { return &c.Reason }),
	column.Integer("used", func(c *contactRow) *int { return &c.Used }),
	column.Integer("unconsumed", func(c *contactRow) *int { return &c.Unconsumed }),
	column.Integer("max", func(c *contactRow) *int { return &c.Max }),
	column.Text("last_outcome", func(c *contactRow) *string { return (*string)(&c.LastOutcome) }),
	column.Text("last_disposition", func(c *contactRow) *string { return &c.LastDisposition }),
	column.Bigint("last_talk", func(c *contactRow) *time.Duration { return &c.LastTalk }),
	column.Bigint("longest_talk", func(c *contactRow) *time.Duration { return &c.LongestTalk }),
	column.Boolean("connected_once", func(c *contactRow) *bool { return &c.ConnectedOnce }),
	column.Boolean("has_result", func(c *contactRow) *bool { return &c.HasResult }),
	column.Boolean("rang_unanswered", func(c *contactRow) *bool { return &c.RangUnanswered }),
	column.Moment("due_at", func(c *contactRow) **time.Time { return &c.DueAt }),
	column.Integer("due_class", func(c *contactRow) *contact.DueClass { return &c.DueClass }),
	column.Integer("due_pass", func(c *contactRow) *int { return &c.DuePass }),
	column.Identifier("attempt_id", func(c *contactRow) *string { return (*string)(&c.Attempt) }),
	column.Moment("result_due_at", func(c *contactRow) **time.Time { return &c.ResultDueAt }),
	column.Text("callback", func(c *contactRow) *contact.CallbackState { return &c.Callback }),
	column.Moment("callback_at", func(c *contactRow) **time.Time { return &c.CallbackAt }),
	column.Boolean("callback_extra", func(c *contactRow) *bool { return &c.CallbackExtra }),
	column.Boolean("exclude_after_call", func(c *contactRow) *bool { return &c.ExcludeAfterCall }),
	column.Text("called_from", func(c *contactRow) *string { return (*string)(&c.CalledFrom) }),
	column.Moment("abandoned_at", func(c *contactRow) **time.Time { return &c.AbandonedAt }),
	column.Immutable(column.Instant("created_at", func(c *contactRow) *time.Time { return &c.CreatedAt })),
	column.Instant("updated_at", func(c *contactRow) *time.Time { return &c.UpdatedAt }),
	column.Bigint("version", func(c *contactRow) *int64 { return &c.Version }),
}

// variablesHash tells whether variables changed, whatever the order of the
// map: they are sent to the database only when the stored hash differs.
func variablesHash(v map[string]string) int64 {
	var sum uint64
	for k, s := range v {
		h := uint64(14695981039346656037)
		for i := 0; i < len(k); i++ {
			h = (h ^ uint64(k[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
		for i := 0; i < len(s); i++ {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		sum += bits.RotateLeft64(h, 31) * 0x9e3779b97f4a7c15
	}
	return int64(sum)
}

const fromContacts = " FROM contacts c LEFT JOIN contact_variables v ON v.contact_id = c.id "

var selectContact = "SELECT " + column.Names(contactColumns, "c") + ", v.variables" + fromContacts

func scanContact(row pgx.CollectableRow) (c contact.Contact, err error) {
	err = row.Scan(append(column.Targets(contactColumns, &c, make([]any, 0, len(contactColumns)+1)), &c.Variables)...)
	return c, err
}
