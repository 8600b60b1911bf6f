package campaign

import (
	"dialler/engine"
)

// AddBatch adds a list of contacts, each of which is judged separately: the valid ones are added,
// all in one transaction with the reply, and the others are named. The rules are those of
// AddContacts.
type AddBatch struct {
	AddContacts
	// Results has one entry per item of the request, in order. Items that already have a status are
	// not among Contacts; the results of Contacts fill the other entries, in order.
	Results     []BatchResult
	Idempotency engine.Idempotency
}

// RowStatus is the result of adding one contact of a list.
type RowStatus string

// RowStatuses are the possible values.
const (
	RowAdded      RowStatus = "added"
	RowDuplicate  RowStatus = "duplicate"  // the campaign has a contact with the number, or an earlier item is one
	RowReadmitted RowStatus = "readmitted" // a duplicate that was excluded and can be called again
	RowExcluded   RowStatus = "excluded"
	RowSuppressed RowStatus = "suppressed"
	RowInvalid    RowStatus = "invalid"
)

// BatchResult is the result of one item.
type BatchResult struct {
	Status    RowStatus        `json:"status"`
	ContactID engine.ContactID `json:"contact_id,omitempty"` // the campaign's contact, if there is one
	Problem   *RowProblem      `json:"problem,omitempty"`    // of an invalid item
}

// RowProblem says why an item cannot become a contact.
type RowProblem struct {
	Code   string              `json:"code"`
	Detail string              `json:"detail"`
	Errors []engine.FieldError `json:"errors,omitempty"`
}

// BatchReply is the body of the answer. The counts summarise Results.
type BatchReply struct {
	Added      int           `json:"added"`
	Duplicates int           `json:"duplicates"`
	Readmitted int           `json:"readmitted"`
	Excluded   int           `json:"excluded"`
	Suppressed int           `json:"suppressed"`
	Invalid    int           `json:"invalid"`
	Results    []BatchResult `json:"results"`
}

// Reply inserts the results of Contacts, one each in order, into the results.
func (b *AddBatch) Reply(rows []BatchResult) BatchReply {
	out := BatchReply{Results: make([]BatchResult, len(b.Results))}
	for i, res := range b.Results {
		if res.Status == "" && len(rows) > 0 {
			res, rows = rows[0], rows[1:]
		}
		out.Results[i] = res
		switch res.Status {
		case RowAdded:
			out.Added++
		case RowDuplicate:
			out.Duplicates++
		case RowReadmitted:
			out.Readmitted++
		case RowExcluded:
			out.Excluded++
		case RowSuppressed:
			out.Suppressed++
		case RowInvalid:
			out.Invalid++
		}
	}
	return out
}
