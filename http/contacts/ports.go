package contacts

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Campaigns is the contacts of campaigns.
type Campaigns interface {
	// Detail: NotFound "campaign_not_found" when there is none.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// AddContacts adds all rows or none.
	AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error)
	// AddBatch adds those of a list that can be added, in one transaction with
	// the reply when the command carries an Idempotency; see Trigger.
	AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error)
	// Contacts gives one page in list order. Page.Filter is one of contact.Filters or "".
	Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (campaign.ContactList, error)
	// Contact gives one contact and why it is not dialled now; NotFound
	// "contact_not_found" when the campaign has no such contact.
	Contact(ctx context.Context, id engine.CampaignID, cid engine.ContactID) (campaign.ContactDetail, error)
	// ActOnContact has an operator's word on one contact carried out; it is durable
	// then, with who it was. NotFound "contact_not_found"; Conflict or Invalid when
	// the contact, as it stands, does not allow it.
	ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error
	// Trigger commits the reply with what it did when the command
	// carries an Idempotency; journal.ErrReplyExists when such a reply is
	// already stored. Past its Deadline a command is dropped unexecuted
	// (engine.KindUnavailable).
	Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error)
}

// Imports brings files of contacts into campaigns.
type Imports interface {
	// Import reads a file to its end and makes contacts of its rows, all by one
	// switch; the file is not looked at when the campaign takes no contacts. An
	// error of the file's reader comes back as it is; with any error no row is
	// in the campaign. ctx ends the reading and the waiting for the switch.
	Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error)
	// ImportByRequest gives the import that a request with an Idempotency-Key
	// began and that did not fail; ok is false when there is none.
	ImportByRequest(
		ctx context.Context,
		id engine.CampaignID,
		request engine.Idempotency,
	) (imp campaign.Import, ok bool,
		err error)
	// CancelImport ends an import that has not come to its end, whichever process
	// has it; of it no row is in the campaign then. It gives it as it stands.
	CancelImport(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// Imports gives one page of a campaign's imports, newest first.
	Imports(ctx context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.Import, int, error)
	// ImportByID: NotFound "import_not_found" when there is none.
	ImportByID(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// RejectedRows gives one page of the rows that did not become contacts, in
	// the order of the file, and how many are listed.
	RejectedRows(ctx context.Context, id engine.ImportID, page campaign.Page) ([]campaign.RejectedRow, int, error)
}
