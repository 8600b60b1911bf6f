package table

import (
	"math/bits"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/contact"

	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

type ContactRow = contact.Contact

// ContactColumns is the only mapping of a contact. Its variables are in contact_variables.
var ContactColumns = []column.Of[ContactRow]{
	column.Identifier("id", func(c *ContactRow) *string { return (*string)(&c.ID) }),
	column.Immutable(column.Text("campaign_id", func(c *ContactRow) *string { return (*string)(&c.Campaign) })),
	column.Immutable(column.Text("number", func(c *ContactRow) *string { return (*string)(&c.Number) })),
	column.Bigint("position", func(c *ContactRow) *int64 { return &c.Position }),
	column.Text("source", func(c *ContactRow) *string { return &c.Source }),
	column.Integer("run", func(c *ContactRow) *int { return &c.Run }),
	column.Text("state", func(c *ContactRow) *contact.State { return &c.State }),
	column.Text("reason", func(c *ContactRow) *string { return &c.Reason }),
	column.Integer("used", func(c *ContactRow) *int { return &c.Used }),
	column.Integer("unconsumed", func(c *ContactRow) *int { return &c.Unconsumed }),
	column.Integer("max", func(c *ContactRow) *int { return &c.Max }),
	column.Text("last_outcome", func(c *ContactRow) *string { return (*string)(&c.LastOutcome) }),
	column.Text("last_disposition", func(c *ContactRow) *string { return &c.LastDisposition }),
	column.Bigint("last_talk", func(c *ContactRow) *time.Duration { return &c.LastTalk }),
	column.Bigint("longest_talk", func(c *ContactRow) *time.Duration { return &c.LongestTalk }),
	column.Boolean("connected_once", func(c *ContactRow) *bool { return &c.ConnectedOnce }),
	column.Boolean("has_result", func(c *ContactRow) *bool { return &c.HasResult }),
	column.Boolean("rang_unanswered", func(c *ContactRow) *bool { return &c.RangUnanswered }),
	column.Moment("due_at", func(c *ContactRow) **time.Time { return &c.DueAt }),
	column.Integer("due_class", func(c *ContactRow) *contact.DueClass { return &c.DueClass }),
	column.Integer("due_pass", func(c *ContactRow) *int { return &c.DuePass }),
	column.Identifier("attempt_id", func(c *ContactRow) *string { return (*string)(&c.Attempt) }),
	column.Moment("result_due_at", func(c *ContactRow) **time.Time { return &c.ResultDueAt }),
	column.Text("callback", func(c *ContactRow) *contact.CallbackState { return &c.Callback }),
	column.Moment("callback_at", func(c *ContactRow) **time.Time { return &c.CallbackAt }),
	column.Boolean("callback_extra", func(c *ContactRow) *bool { return &c.CallbackExtra }),
	column.Boolean("exclude_after_call", func(c *ContactRow) *bool { return &c.ExcludeAfterCall }),
	column.Text("called_from", func(c *ContactRow) *string { return (*string)(&c.CalledFrom) }),
	column.Moment("abandoned_at", func(c *ContactRow) **time.Time { return &c.AbandonedAt }),
	column.Immutable(column.Instant("created_at", func(c *ContactRow) *time.Time { return &c.CreatedAt })),
	column.Instant("updated_at", func(c *ContactRow) *time.Time { return &c.UpdatedAt }),
	column.Bigint("version", func(c *ContactRow) *int64 { return &c.Version }),
	column.Identifier("last_conversation", func(c *ContactRow) *string { return (*string)(&c.LastConversation) }),
	column.Identifier("callback_of", func(c *ContactRow) *string { return (*string)(&c.CallbackOf) }),
	column.Boolean("calling_back", func(c *ContactRow) *bool { return &c.CallingBack }),
	column.Integer("callbacks_cancelled", func(c *ContactRow) *int { return &c.CallbacksCancelled }),
	column.Integer("ends", func(c *ContactRow) *contact.Ends { return &c.Ends }),
	column.Moment("not_before", func(c *ContactRow) **time.Time { return &c.NotBefore }),
	column.Moment("expires_at", func(c *ContactRow) **time.Time { return &c.ExpiresAt }),
	column.Integer("precedence", func(c *ContactRow) *int { return &c.Precedence }),
	column.Bigint("tries", func(c *ContactRow) *cadence.Tries { return &c.Tries }),
	// An erased person gets no numbers back from a write that was on its way.
	column.Merged(column.Text("alternates", func(c *ContactRow) *contact.Alternates { return &c.Alternates }),
		"CASE WHEN starts_with(t.number, '"+engine.ErasedPrefix+"') THEN '' ELSE excluded.alternates END"),
	column.Integer("choice", func(c *ContactRow) *contact.Choice { return &c.Choice }),
	column.Identifier("calls_back", func(c *ContactRow) *string { return (*string)(&c.CallsBack) }),
	column.Moment("calls_back_until", func(c *ContactRow) **time.Time { return &c.CallsBackUntil }),
	column.Moment("due_otherwise", func(c *ContactRow) **time.Time { return &c.DueOtherwise }),
}

// A person's numbers in SQL, for contacts under an alias; contact.Contact has the same in Go, and a
// test compares them.

// NumbersAfterFirst is the SQL of the array of a contact's numbers after the first.
func NumbersAfterFirst(c string) string {
	return "string_to_array(split_part(" + c + ".alternates, E'\t', 1), ' ')"
}

// NextNumber is the SQL of the number that is called next (contact.Contact.NextNumber).
func NextNumber(c string) string {
	return "CASE WHEN " + c + ".choice & 7 = 0 THEN " + c + ".number ELSE (" + NumbersAfterFirst(c) + ")[" + c +
		".choice & 7] END"
}

// Stops is the SQL condition, for a contact with several numbers, that all those that may be called are on
// the suppression list (contact.Contact.StopsFor).
func Stops(c string) string {
	const listed = "EXISTS (SELECT FROM suppressions s WHERE s.number = "
	return "((" + c + ".choice >> 3 & 1 = 1 OR " + listed + c + ".number)) AND NOT EXISTS (" +
		"SELECT FROM unnest(" + NumbersAfterFirst(c) + ") WITH ORDINALITY o(number, n) " +
		"WHERE " + c + ".choice >> (3 + o.n::integer) & 1 = 0 AND NOT " + listed + "o.number)))"
}

// Goes is the SQL condition that a number of a contact, which may have one or several, is left that may
// be called and is not on the suppression list. For those with one it is an anti-join.
func Goes(c string) string {
	return "NOT EXISTS (SELECT FROM suppressions s WHERE s.number = " + c + ".number AND " + c + ".alternates = '') " +
		"AND (" + c + ".alternates = '' OR NOT " + Stops(c) + ")"
}

// VariablesHash detects changed variables, independent of the order of the map: they are sent to
// the database only when the stored hash differs.
func VariablesHash(v map[string]string) int64 {
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

var SelectContact = "SELECT " + column.Names(ContactColumns, "c") + ", v.variables" + fromContacts

func ScanContact(row pgx.CollectableRow) (c contact.Contact, err error) {
	err = row.Scan(append(column.Targets(ContactColumns, &c, make([]any, 0, len(ContactColumns)+1)), &c.Variables)...)
	return c, err
}

// WithNumber is the SQL of the identifiers of the contacts of a campaign that have a number, n, among
// theirs: two look-ups by index.
func WithNumber(campaign, n string) string {
	return "SELECT k.id FROM contacts k WHERE k.campaign_id = " + campaign + " AND k.number = " + n +
		" UNION ALL SELECT o.contact_id FROM contact_numbers o WHERE o.campaign_id = " + campaign + " AND o.number = " + n
}

// StagedBeside is the SQL of the imports that have a staged row with a number, n, after its first: one
// look-up by index, in a part of its own because nothing tells the planner how few rows it finds.
func StagedBeside(n string) string {
	return "WITH beside AS MATERIALIZED (SELECT r.import_id FROM import_rows r WHERE r.alternates <> '' AND " +
		NumbersAfterFirst("r") + " @> ARRAY[" + n + "]) SELECT import_id FROM beside"
}

// Mention notes that something other than its file has named contacts ($1); only those of files matter.
const Mention = `INSERT INTO contact_mentions (contact_id) SELECT c.id FROM contacts c WHERE c.id = ANY($1::uuid[])
	AND c.source = '` + contact.SourceFile + `' AND c.used = 0 ON CONFLICT DO NOTHING`

// NumberOf is a number in a campaign.
type NumberOf struct {
	Campaign engine.CampaignID
	Number   engine.PhoneNumber
}
