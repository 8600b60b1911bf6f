package persistence

import (
	"math/bits"
	"time"

	"dialler/engine/contact"

	"github.com/jackc/pgx/v5"
)

type contactRow = contact.Contact

// contactColumns is the one mapping of a contact. Its variables stand in
// contact_variables.
var contactColumns = []column[contactRow]{
	identifier("id", func(c *contactRow) *string { return (*string)(&c.ID) }),
	immutable(text("campaign_id", func(c *contactRow) *string { return (*string)(&c.Campaign) })),
	immutable(text("number", func(c *contactRow) *string { return (*string)(&c.Number) })),
	bigint("position", func(c *contactRow) *int64 { return &c.Position }),
	text("source", func(c *contactRow) *string { return &c.Source }),
	integer("run", func(c *contactRow) *int { return &c.Run }),
	text("state", func(c *contactRow) *contact.State { return &c.State }),
	text("reason", func(c *contactRow) *string { return &c.Reason }),
	integer("used", func(c *contactRow) *int { return &c.Used }),
	integer("unconsumed", func(c *contactRow) *int { return &c.Unconsumed }),
	integer("max", func(c *contactRow) *int { return &c.Max }),
	text("last_outcome", func(c *contactRow) *string { return (*string)(&c.LastOutcome) }),
	text("last_disposition", func(c *contactRow) *string { return &c.LastDisposition }),
	bigint("last_talk", func(c *contactRow) *time.Duration { return &c.LastTalk }),
	bigint("longest_talk", func(c *contactRow) *time.Duration { return &c.LongestTalk }),
	boolean("connected_once", func(c *contactRow) *bool { return &c.ConnectedOnce }),
	boolean("has_result", func(c *contactRow) *bool { return &c.HasResult }),
	boolean("rang_unanswered", func(c *contactRow) *bool { return &c.RangUnanswered }),
	moment("due_at", func(c *contactRow) **time.Time { return &c.DueAt }),
	integer("due_class", func(c *contactRow) *contact.DueClass { return &c.DueClass }),
	integer("due_pass", func(c *contactRow) *int { return &c.DuePass }),
	identifier("attempt_id", func(c *contactRow) *string { return (*string)(&c.Attempt) }),
	moment("result_due_at", func(c *contactRow) **time.Time { return &c.ResultDueAt }),
	text("callback", func(c *contactRow) *contact.CallbackState { return &c.Callback }),
	moment("callback_at", func(c *contactRow) **time.Time { return &c.CallbackAt }),
	boolean("callback_extra", func(c *contactRow) *bool { return &c.CallbackExtra }),
	boolean("exclude_after_call", func(c *contactRow) *bool { return &c.ExcludeAfterCall }),
	text("called_from", func(c *contactRow) *string { return (*string)(&c.CalledFrom) }),
	moment("abandoned_at", func(c *contactRow) **time.Time { return &c.AbandonedAt }),
	immutable(instant("created_at", func(c *contactRow) *time.Time { return &c.CreatedAt })),
	instant("updated_at", func(c *contactRow) *time.Time { return &c.UpdatedAt }),
	bigint("version", func(c *contactRow) *int64 { return &c.Version }),
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

var selectContact = "SELECT " + names(contactColumns, "c") + ", v.variables" + fromContacts

func scanContact(row pgx.CollectableRow) (c contact.Contact, err error) {
	err = row.Scan(append(targets(contactColumns, &c, make([]any, 0, len(contactColumns)+1)), &c.Variables)...)
	return c, err
}
