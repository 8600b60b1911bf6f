package persistence

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

const fromContacts = " FROM contacts c LEFT JOIN contact_variables v ON v.contact_id = c.id "

var selectContact = "SELECT " + names(contactColumns, "c") + ", v.variables" + fromContacts

func scanContact(row pgx.CollectableRow) (c contact.Contact, err error) {
	err = row.Scan(append(targets(contactColumns, &c, make([]any, 0, len(contactColumns)+1)), &c.Variables)...)
	return c, err
}

func (s *Store) oneContact(ctx context.Context, where string, args ...any) (c contact.Contact, ok bool, err error) {
	rows, _ := s.read.Query(ctx, selectContact+where, args...)
	c, err = pgx.CollectExactlyOneRow(rows, scanContact)
	if errors.Is(err, pgx.ErrNoRows) {
		return contact.Contact{}, false, nil
	}
	return c, err == nil, s.wrap("contact not read", err)
}

// ContactByNumber: ok is false when the campaign has no such contact.
func (s *Store) ContactByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) (c contact.Contact, ok bool, err error) {
	return s.oneContact(ctx, "WHERE c.campaign_id = $1 AND c.number = $2", string(id), n.E164())
}

// ContactByID: ok is false when there is none.
func (s *Store) ContactByID(ctx context.Context, id engine.ContactID) (c contact.Contact, ok bool, err error) {
	if !isID(string(id)) {
		return contact.Contact{}, false, nil
	}
	return s.oneContact(ctx, "WHERE c.id = $1", string(id))
}

func isID(s string) bool {
	var b [16]byte
	return parseID(s, &b)
}

// ContactsMatching lists contacts whose variables contain all pairs, in list
// order. No pairs match nobody.
func (s *Store) ContactsMatching(ctx context.Context, id engine.CampaignID, match map[string]string) ([]contact.Contact, error) {
	if len(match) == 0 {
		return nil, nil
	}
	rows, _ := s.read.Query(ctx, "SELECT "+names(contactColumns, "c")+`, v.variables
		FROM contact_variables v JOIN contacts c ON c.id = v.contact_id
		WHERE v.variables @> $2 AND c.campaign_id = $1 ORDER BY c.position`, string(id), match)
	list, err := pgx.CollectRows(rows, scanContact)
	return list, s.wrap("contacts not read", err)
}

// ExcludedContacts lists the contacts with one of the numbers that are excluded
// from the campaign.
func (s *Store) ExcludedContacts(ctx context.Context, id engine.CampaignID, numbers []engine.PhoneNumber) ([]contact.Contact, error) {
	rows, _ := s.read.Query(ctx, selectContact+"WHERE c.campaign_id = $1 AND c.number = ANY($2::text[]) AND c.state = 'excluded'", string(id), numbers)
	list, err := pgx.CollectRows(rows, scanContact)
	return list, s.wrap("excluded contacts not read", err)
}

// ResultsOverdue lists contacts whose result time-out has passed, the longest
// overdue first.
func (s *Store) ResultsOverdue(ctx context.Context, id engine.CampaignID, now time.Time, limit int) ([]contact.Contact, error) {
	rows, _ := s.read.Query(ctx, selectContact+"WHERE c.campaign_id = $1 AND c.result_due_at <= $2 ORDER BY c.result_due_at LIMIT $3",
		string(id), now, limit)
	list, err := pgx.CollectRows(rows, scanContact)
	return list, s.wrap("overdue results not read", err)
}

// Contacts gives one page of a campaign's contacts in list order, each with
// its attempts of all runs, and how many there are. The filter is a contact
// state or "".
func (s *Store) Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (list campaign.ContactList, err error) {
	const filter = "WHERE c.campaign_id = $1 AND ($2 = '' OR c.state = $2)"
	if err := s.read.QueryRow(ctx, "SELECT count(*) FROM contacts c "+filter, string(id), page.Filter).Scan(&list.Total); err != nil {
		return list, s.wrap("contacts not counted", err)
	}
	rows, _ := s.read.Query(ctx, selectContact+filter+" ORDER BY c.position, c.id LIMIT $3 OFFSET $4",
		string(id), page.Filter, page.Size, offset(page))
	found, err := pgx.CollectRows(rows, scanContact)
	if err != nil {
		return list, s.wrap("contacts not read", err)
	}
	ids := make([]string, len(found))
	at := make(map[engine.ContactID]int, len(found))
	list.Contacts = make([]campaign.ContactView, len(found))
	for i := range found {
		ids[i], at[found[i].ID] = string(found[i].ID), i
		list.Contacts[i].Contact = found[i]
	}
	attempts, err := s.attempts(ctx, "WHERE a.campaign_id = $1 AND a.contact_id = ANY($2::uuid[]) ORDER BY a.id", string(id), ids)
	for i := range attempts {
		v := &list.Contacts[at[attempts[i].Contact]]
		v.Attempts = append(v.Attempts, attempts[i])
	}
	return list, err
}
