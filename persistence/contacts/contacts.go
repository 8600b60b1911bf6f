// Package contacts stores the contacts of campaigns.
package contacts

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/pacing"
	"dialler/persistence/column"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// Roster stores the contacts of campaigns: who they are, who is due, what holds them back, and how
// they are added and prepared for a run.
type Roster struct {
	db       *table.DB
	byNumber pool.Together[table.NumberOf, contact.Contact]
	// searching has an entry for each search that runs, waiting for each that runs or waits.
	searching, waiting chan struct{}
}

// NewRoster returns the Roster stored in db.
func NewRoster(db *table.DB) *Roster {
	r := &Roster{db: db, searching: make(chan struct{}, searchers),
		waiting: make(chan struct{}, searchers+searchersWaiting)}
	r.byNumber.Ask = r.contactsByNumber
	return r
}

func (s *Roster) oneContact(ctx context.Context, where string, args ...any) (c contact.Contact, ok bool, err error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectContact+where, args...)
	c, err = pgx.CollectExactlyOneRow(rows, table.ScanContact)
	if errors.Is(err, pgx.ErrNoRows) {
		return contact.Contact{}, false, nil
	}
	return c, err == nil, s.db.Wrap("contact not read", err)
}

// ContactByNumber returns the contact with that number: the one whose first it is, else the first of
// those that have it beside; ok is false when the campaign has none.
func (s *Roster) ContactByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) (c contact.Contact,
	ok bool, err error) {
	c, ok, err = s.byNumber.Of(ctx, table.NumberOf{Campaign: id, Number: n})
	c.Variables = maps.Clone(c.Variables) // the same map may have been given to another caller
	return c, ok, err
}

func (s *Roster) contactsByNumber(ctx context.Context, keys []table.NumberOf) (map[table.NumberOf]contact.Contact,
	error) {
	campaigns, numbers := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		campaigns[i], numbers[i] = string(k.Campaign), string(k.Number)
	}
	rows, _ := s.db.Read.Query(ctx, `WITH u AS (SELECT DISTINCT * FROM unnest($1::text[], $2::text[])
			u(campaign_id, number)), found AS (
			SELECT c.id FROM u JOIN contacts c ON c.campaign_id = u.campaign_id AND c.number = u.number
			UNION SELECT n.contact_id FROM u JOIN contact_numbers n ON n.campaign_id = u.campaign_id
				AND n.number = u.number
		) SELECT `+column.Names(table.ContactColumns, "c")+`, v.variables FROM found f JOIN contacts c ON c.id = f.id
		LEFT JOIN contact_variables v ON v.contact_id = c.id ORDER BY c.position DESC`,
		pool.PlannedEachTime, campaigns, numbers)
	list, err := pgx.CollectRows(rows, table.ScanContact)
	found := make(map[table.NumberOf]contact.Contact, len(list))
	for i := range list { // the first of those that have it beside their first stays
		for n := range list[i].Alternates.Numbers() {
			found[table.NumberOf{Campaign: list[i].Campaign, Number: n}] = list[i]
		}
	}
	for i := range list {
		found[table.NumberOf{Campaign: list[i].Campaign, Number: list[i].Number}] = list[i]
	}
	return found, s.db.Wrap("contact not read", err)
}

// ContactsByNumber lists all contacts of a campaign that have a number: the one whose first it is, then
// those that have it beside, in the order of the list.
func (s *Roster) ContactsByNumber(ctx context.Context, id engine.CampaignID,
	n engine.PhoneNumber) ([]contact.Contact, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectContact+"WHERE c.id IN ("+table.WithNumber("$1", "$2")+") "+
		"ORDER BY c.number <> $2, c.position", pool.PlannedEachTime, string(id), n.E164())
	list, err := pgx.CollectRows(rows, table.ScanContact)
	return list, s.db.Wrap("contacts not read", err)
}

// ContactByID returns a contact; ok is false when there is none.
func (s *Roster) ContactByID(ctx context.Context, id engine.ContactID) (c contact.Contact, ok bool, err error) {
	if !column.IsID(string(id)) {
		return contact.Contact{}, false, nil
	}
	return s.oneContact(ctx, "WHERE c.id = $1", string(id))
}

// KeptContact returns a contact as an earlier run left it; ok is false when that run has none.
func (s *Roster) KeptContact(
	ctx context.Context,
	id engine.ContactID,
	run int,
) (c contact.Contact, ok bool, err error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+column.Names(table.ContactColumns, "c")+`, v.variables
		FROM contacts p JOIN contact_runs c ON c.campaign_id = p.campaign_id AND c.run = $2 AND c.id = p.id
		LEFT JOIN contact_variables v ON v.contact_id = c.id WHERE p.id = $1`, string(id), run)
	c, err = pgx.CollectExactlyOneRow(rows, table.ScanContact)
	if errors.Is(err, pgx.ErrNoRows) {
		return contact.Contact{}, false, nil
	}
	return c, err == nil, s.db.Wrap("contact of an earlier run not read", err)
}

// ContactsMatching lists the contacts whose variables contain all pairs, in list order. Without
// pairs it matches nobody.
func (s *Roster) ContactsMatching(ctx context.Context, id engine.CampaignID,
	match map[string]string) ([]contact.Contact, error) {
	if len(match) == 0 {
		return nil, nil
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+column.Names(table.ContactColumns, "c")+`, v.variables
		FROM contact_variables v JOIN contacts c ON c.id = v.contact_id
		WHERE v.variables @> $2 AND c.campaign_id = $1 ORDER BY c.position`, string(id), match)
	list, err := pgx.CollectRows(rows, table.ScanContact)
	return list, s.db.Wrap("contacts not read", err)
}

// ExcludedContacts lists the contacts with one of the numbers that are excluded
// from the campaign.
func (s *Roster) ExcludedContacts(ctx context.Context, id engine.CampaignID,
	numbers []engine.PhoneNumber) ([]contact.Contact, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectContact+"WHERE c.campaign_id = $1 AND c.number = ANY($2::text[]) "+
		"AND c.state = 'excluded'", string(id), numbers)
	list, err := pgx.CollectRows(rows, table.ScanContact)
	return list, s.db.Wrap("excluded contacts not read", err)
}

// SuppressedContacts returns up to limit contacts, ordered by identifier and after the given one,
// that wait for a dial in the run and whose numbers are all suppressed: those with one of the given, or
// all if none are given. A contact covered only by an erased person's entry is left to its
// intent.
func (s *Roster) SuppressedContacts(ctx context.Context, id engine.CampaignID, run int, numbers []engine.PhoneNumber,
	after engine.ContactID, limit int) ([]contact.Contact, error) {
	const waits = `WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL AND c.attempt_id IS NULL
		AND ($4 = '' OR c.id > $4::uuid) `
	of := ""
	if len(numbers) > 0 {
		of = " AND s.number = ANY($3::text[])"
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT * FROM (("+table.SelectContact+waits+`AND c.alternates = ''
			AND ((cardinality($3::text[]) > 0) IS NOT TRUE OR c.number = ANY($3::text[]))
			AND EXISTS (SELECT FROM suppressions s WHERE s.number = c.number) ORDER BY c.id LIMIT $5)
		UNION ALL (`+table.SelectContact+waits+`AND c.alternates <> '' AND c.id IN (
				SELECT n.contact_id FROM suppressions s JOIN contact_numbers n ON n.campaign_id = $1 AND n.number = s.number`+
		of+`
				UNION ALL SELECT k.id FROM suppressions s JOIN contacts k ON k.campaign_id = $1 AND k.number = s.number`+
		of+`)
			AND `+table.Stops("c")+` ORDER BY c.id LIMIT $5)) c
		ORDER BY c.id LIMIT $5`, string(id), run, numbers, string(after), limit)
	list, err := pgx.CollectRows(rows, table.ScanContact)
	return list, s.db.Wrap("suppressed contacts not read", err)
}

// ResultsOverdue lists contacts whose result timeout has passed, the longest overdue first.
func (s *Roster) ResultsOverdue(ctx context.Context, id engine.CampaignID, now time.Time,
	limit int) ([]contact.Contact, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectContact+"WHERE c.campaign_id = $1 AND c.result_due_at <= $2 "+
		"ORDER BY c.result_due_at LIMIT $3",
		string(id), now, limit)
	list, err := pgx.CollectRows(rows, table.ScanContact)
	return list, s.db.Wrap("overdue results not read", err)
}

// Contacts returns one page of a campaign's contacts in list order, each with its attempts of all
// runs, and the total. The filter is one of contact.Filters or ""; a page may be limited to one
// number, to those that a search finds, or to those that the callbacks panel counts under a word.
func (s *Roster) Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (list campaign.ContactList,
	err error) {
	where, args := "WHERE c.campaign_id = $1", []any{string(id)}
	only := func(condition, value string) {
		if value != "" {
			args = append(args, value)
			where += " AND " + condition + " = $" + strconv.Itoa(len(args))
		}
	}
	if page.Filter == contact.FilterUnanswered {
		where += " AND c.rang_unanswered"
	} else {
		state, _ := contact.StateShownAs(page.Filter)
		only("c.state", string(state))
	}
	if page.Phone != "" {
		args = append(args, page.Phone.E164())
		n := "$" + strconv.Itoa(len(args))
		where += " AND c.id IN (" + table.WithNumber("$1", n) + ")"
	}
	if page.Search != nil {
		ids, err := s.matching(ctx, id, page.Search)
		if err != nil {
			return list, err
		}
		args = append(args, ids)
		where += " AND c.id = ANY($" + strconv.Itoa(len(args)) + "::uuid[])"
	}
	if page.Callback != "" {
		args = append(args, page.Callback.Among())
		// the index covers no other rows
		where += " AND c.callback = ANY($" + strconv.Itoa(len(args)) + "::text[]) AND c.callback <> ''"
	}
	if err := s.db.Read.QueryRow(ctx, "SELECT count(*) FROM contacts c "+where, args...).Scan(&list.Total); err != nil {
		return list, s.db.Wrap("contacts not counted", err)
	}
	n := len(args)
	rows, _ := s.db.Read.Query(ctx, table.SelectContact+where+" ORDER BY c.position, c.id "+
		"LIMIT $"+strconv.Itoa(n+1)+" OFFSET $"+strconv.Itoa(n+2),
		append(args, page.Size, pool.Offset(page))...)
	found, err := pgx.CollectRows(rows, table.ScanContact)
	if err != nil {
		return list, s.db.Wrap("contacts not read", err)
	}
	ids := make([]string, len(found))
	at := make(map[engine.ContactID]int, len(found))
	list.Contacts = make([]campaign.ContactView, len(found))
	for i := range found {
		ids[i], at[found[i].ID] = string(found[i].ID), i
		list.Contacts[i].Contact = found[i]
	}
	attempts, err := s.db.Attempts(ctx, "WHERE a.campaign_id = $1 AND a.contact_id = ANY($2::uuid[]) ORDER BY a.id",
		string(id), ids)
	for i := range attempts {
		v := &list.Contacts[at[attempts[i].Contact]]
		v.Attempts = append(v.Attempts, attempts[i])
	}
	if err != nil {
		return list, err
	}
	back, err := s.callsBack(ctx, attempts)
	of := make(map[engine.AttemptID]engine.ContactID, len(attempts))
	for i := range attempts {
		of[attempts[i].ID] = attempts[i].Contact
	}
	for i := range back {
		v := &list.Contacts[at[of[back[i].Returns]]]
		v.CallsBack = append(v.CallsBack, back[i])
	}
	return list, err
}

// callsBack returns the calls that came in and return one of the attempts, oldest first, the newest of each
// contact. An index finds them by their number, which is that of the attempt.
func (s *Roster) callsBack(ctx context.Context, of []attempt.Attempt) ([]attempt.Attempt, error) {
	if len(of) == 0 {
		return nil, nil
	}
	numbers, ids := make([]string, len(of)), make([]string, len(of))
	for i := range of {
		numbers[i], ids[i] = of[i].To.E164(), string(of[i].ID)
	}
	return s.db.Attempts(ctx, `WHERE a.id IN (SELECT id FROM (
			SELECT b.id, row_number() OVER (PARTITION BY o.contact_id ORDER BY b.id DESC) AS nth
			FROM attempts b JOIN attempts o ON o.id = b.returns
			WHERE b.to_number = ANY($1::text[]) AND b.inbound AND b.returns = ANY($2::uuid[])
		) newest WHERE nth <= $3) ORDER BY a.id`, numbers, ids, campaign.CallsBackMost)
}

// ContactView returns one contact of a campaign with its attempts of all runs and the calls that return
// them; ok is false when the campaign has no such contact.
func (s *Roster) ContactView(ctx context.Context, id engine.CampaignID, cid engine.ContactID) (v campaign.ContactView,
	ok bool, err error) {
	if v.Contact, ok, err = s.ContactByID(ctx, cid); err != nil || !ok || v.Contact.Campaign != id {
		return campaign.ContactView{}, false, err
	}
	v.Attempts, err = s.db.Attempts(ctx, "WHERE a.campaign_id = $1 AND a.contact_id = $2 ORDER BY a.id", string(id),
		string(cid))
	if err == nil {
		v.CallsBack, err = s.callsBack(ctx, v.Attempts)
	}
	return v, err == nil, err
}

// ContactFacts returns what holds a contact back beyond what its row says.
func (s *Roster) ContactFacts(ctx context.Context, c *contact.Contact, order contact.Order) (f campaign.ContactFacts,
	err error) {
	next := c.NextNumber()
	var left, hashes []string // of the numbers that may still be called
	place := 0
	for n := range c.Numbers() {
		if !c.Choice.Out(place) {
			left, hashes = append(left, n.E164()), append(hashes, s.db.Hashed(n))
		}
		place++
	}
	err = s.db.Read.QueryRow(ctx, `SELECT
			NOT EXISTS (SELECT FROM unnest($5::text[], $7::text[]) o(number, hash)
				WHERE NOT EXISTS (SELECT FROM suppressions s WHERE s.number IN (o.number, o.hash) AND s.until IS NULL)),
			EXISTS (SELECT FROM exclusions WHERE campaign_id = $2 AND number = ANY($6::text[]) AND match = '{}'
				AND NOT lifted),
			EXISTS (SELECT FROM number_holds WHERE number = $1 AND (hold_until IS NULL OR hold_until > $3)),
			(SELECT hold_until FROM number_holds WHERE number = $1),
			(SELECT max(ended_at) FROM attempts WHERE NOT live AND NOT inbound AND outcome = 'abandoned' AND to_number = $1
				AND ended_at > $3 - $4::interval)`,
		next.E164(), string(c.Campaign), order.Now, pacing.SeatedAfterAbandon, left,
		slices.Collect(c.Numbers()), hashes).
		Scan(&f.Suppressed, &f.Excluded, &f.Held, &f.HeldUntil, &f.AbandonedAt)
	if err != nil {
		return f, s.db.Wrap("contact not explained", err)
	}
	if c.DueAt == nil || c.Attempt != "" || c.DueAt.After(order.Now) {
		return f, nil
	}
	f.Ahead, err = s.ahead(ctx, c, order)
	return f, s.db.Wrap("contact not explained", err)
}

// promotedBy6 is promoted, with the Retry Delay as $6.
var promotedBy6 = strings.ReplaceAll(promoted, "$5", "$6")

// ahead counts the due contacts that are dialled before this one: those of a lower class, and the
// earlier ones of its own. Every part stops at the cap.
func (s *Roster) ahead(ctx context.Context, c *contact.Contact, order contact.Order) (n int, err error) {
	var overdue *time.Duration
	if order.Overdue > 0 {
		overdue = &order.Overdue
	}
	const due = " FROM contacts c WHERE c.campaign_id = $1 AND c.run = $2 AND c.attempt_id IS NULL " +
		"AND c.due_at <= $3 AND "
	class, at := c.DueClass, *c.DueAt
	if order.Promoted(c) {
		class, at = contact.DueTrigger, at.Add(order.Overdue)
	}
	err = s.db.Read.QueryRow(ctx, `SELECT least($4::integer, (SELECT count(*) FROM (
			(SELECT 1`+due+`c.due_class < $5 AND c.due_class < 3 LIMIT $4)
			UNION ALL (SELECT 1`+due+`$5 > 1 AND `+promotedBy6+` LIMIT $4)
			UNION ALL (SELECT 1`+due+`$5 < 2 AND c.due_class = $5
				AND (c.precedence, c.due_at, c.position) < ($10, $7, $8) LIMIT $4)
			UNION ALL (SELECT 1`+due+`$5 = 1 AND `+promotedBy6+` 
				AND (c.precedence, c.due_at + $6::interval, c.position) < ($10, $7, $8) LIMIT $4)
			UNION ALL (SELECT 1`+due+`$5 = 2 AND c.due_class = 2 AND (c.precedence, c.position) < ($10, $8)
				LIMIT $4)
			UNION ALL (SELECT 1`+due+`$5 = 3 AND c.due_class = 3 AND NOT coalesce(`+promotedBy6+`, false)
				AND (`+dueGroup+`, c.precedence, c.due_at, c.position) < ($9, $10, $7, $8)
				LIMIT $4)
		) o))`,
		string(c.Campaign), c.Run, order.Now, campaign.AheadCap, int(class), overdue, at, c.Position, c.Used,
		c.Precedence).Scan(&n)
	return n, err
}
