package contacts

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/people"
)

// Campaigns is the contacts of campaigns.
type Campaigns interface {
	// Detail returns NotFound "campaign_not_found" for an unknown campaign.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// AddContacts adds all rows or none.
	AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error)
	// AddBatch adds the valid contacts of a list, in one transaction with the reply if the command
	// carries an Idempotency; see Trigger.
	AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error)
	// Contacts gives one page in list order. Page.Filter is one of contact.Filters or "". For a
	// Page.Search: Invalid "search_too_broad", Unavailable "search_too_slow", "search_busy" or
	// "search_not_ready".
	Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (campaign.ContactList, error)
	// Contact gives one contact and why it is not dialled now; NotFound
	// "contact_not_found" when the campaign has no such contact.
	Contact(ctx context.Context, id engine.CampaignID, cid engine.ContactID) (campaign.ContactDetail, error)
	// ActOnContact carries out an operator's command on one contact; afterwards it is durable, with
	// its author. NotFound "contact_not_found"; Conflict or Invalid if the contact's state does not
	// allow it.
	ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error
	// Trigger commits the reply with its effects if the command carries an Idempotency; it returns
	// journal.ErrReplyExists if such a reply is already stored. After its Deadline a command is
	// dropped unexecuted (engine.KindUnavailable).
	Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error)
}

// People are the people of all campaigns.
type People interface {
	// SearchPeople finds up to limit people, the latest added first, and campaigns. Unavailable
	// "search_too_slow" or "search_busy".
	SearchPeople(ctx context.Context, q contact.Search, limit int) (people.Searched, error)
	// Person returns what is known of a number, which may be nothing.
	Person(ctx context.Context, n engine.PhoneNumber) (people.Person, error)
}

// Imports imports files of contacts into campaigns.
type Imports interface {
	// Import reads a file to its end and turns its rows into contacts, all in one switch; the file
	// is not read if the campaign does not accept contacts. An error of the file's reader is
	// returned as it is; after any error no row is in the campaign. ctx ends the reading and the
	// waiting for the switch.
	Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error)
	// ImportByRequest returns the import that a request with an Idempotency-Key began, unless it
	// failed; ok is false if there is none.
	ImportByRequest(
		ctx context.Context,
		id engine.CampaignID,
		request engine.Idempotency,
	) (imp campaign.Import, ok bool,
		err error)
	// CancelImport ends an unfinished import, whichever process runs it; none of its rows are then
	// in the campaign. It returns the import's current state.
	CancelImport(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// Imports gives one page of a campaign's imports, newest first.
	Imports(ctx context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.Import, int, error)
	// ImportByID returns NotFound "import_not_found" for an unknown import.
	ImportByID(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// UndoPreview counts the contacts of an import that UndoImport would take back now. UndoImport takes them
	// back; it returns after the first page, and the rest follows by itself.
	UndoPreview(ctx context.Context, id engine.CampaignID, of engine.ImportID) (campaign.UndoCounts, error)
	UndoImport(ctx context.Context, cmd campaign.UndoImport) (campaign.ImportUndo, error)
	// RejectedRows returns one page of the rows that did not become contacts, in file order, and
	// how many are listed. Their records are left out.
	RejectedRows(ctx context.Context, id engine.ImportID, page campaign.Page) ([]campaign.RejectedRow, int, error)
	// RejectedAfter returns some of the listed rows after a line of the file, in file order, with their records if
	// they are wanted whole; none when there are no more. They are a thousand and a few megabytes at most.
	RejectedAfter(ctx context.Context, id engine.ImportID, line int, whole bool) ([]campaign.RejectedRow, error)
}
