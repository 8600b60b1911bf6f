package contacts

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// Package contact defines the order in which contacts are dialled (Order); here it is repeated in
// SQL, and a test compares the two.

// dueGroup is the attempt number for retries, which are ordered by it, and otherwise 0. It is
// written as in the index contacts_due_time.
const dueGroup = "(CASE WHEN c.due_class = 3 THEN c.used ELSE 0 END)"

// lane is the due class, with the attempt number for retries: 0 callbacks, 1 triggers, 2 first
// attempts, from 3 on retries. It is written as in the index contacts_due_lane, and not as in
// contacts_due_time: otherwise PostgreSQL takes that one, and sorts, while its statistics are older
// than the retries.
const lane = "(CASE WHEN c.due_class = 3 THEN 3 + c.used ELSE c.due_class END)"

// dueGroups walks the index from one (class, group) to the next, in a handful of steps for any
// number of contacts.
const dueGroups = `WITH RECURSIVE g AS (
		(SELECT c.due_class AS class, ` + dueGroup + ` AS grp FROM contacts c
			WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL ORDER BY c.due_class, ` + dueGroup + `
			LIMIT 1)
		UNION ALL
		SELECT n.class, n.grp FROM g, LATERAL (
			SELECT c.due_class AS class, ` + dueGroup + ` AS grp FROM contacts c
			WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL
			AND (c.due_class, ` + dueGroup + `) > (g.class, g.grp)
			ORDER BY c.due_class, ` + dueGroup + ` LIMIT 1) n
	)`

// dueLanes does the same for (lane, precedence), first attempts apart.
const dueLanes = `WITH RECURSIVE g AS (
		(SELECT ` + lane + ` AS lane, c.precedence AS prec FROM contacts c
			WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL AND c.due_class <> 2
			ORDER BY ` + lane + `, c.precedence LIMIT 1)
		UNION ALL
		SELECT n.lane, n.prec FROM g, LATERAL (
			SELECT ` + lane + ` AS lane, c.precedence AS prec FROM contacts c
			WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL AND c.due_class <> 2
			AND (` + lane + `, c.precedence) > (g.lane, g.prec)
			ORDER BY ` + lane + `, c.precedence LIMIT 1) n
	)`

// callable leaves out contacts with a live attempt and those whose number another call holds. A
// suppressed number is not left out: its intent is refused, which makes the contact final;
// otherwise it would wait forever.
var callable = ` AND c.attempt_id IS NULL
	AND NOT EXISTS (SELECT FROM number_holds h WHERE h.number = ` + table.NextNumber("c") + ` AND (h.hold_until IS NULL
	OR h.hold_until > now()))`

// promoted says that a retry is overdue by $5, the Retry Delay of an always-on campaign, and is
// therefore dialled with the triggers; $5 is null in any other campaign.
const promoted = "(c.due_class = 3 AND c.due_at + $5::interval <= $3)"

// dueContacts takes a page from the head of each lane, and the first of those. A lane is read in the
// order of its index, so whoever stands further back costs nothing.
var dueContacts = dueLanes + `, due AS (
		SELECT d.* FROM g, LATERAL (
			SELECT c.* FROM contacts c
			WHERE c.due_class <> 2 AND c.campaign_id = $1 AND c.run = $2 AND ` + lane + ` = g.lane AND c.precedence = g.prec
				AND c.due_at <= $3` + callable + `
			ORDER BY c.due_at, c.position LIMIT $4) d
		UNION ALL
		(SELECT c.* FROM contacts c WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_class = 2
			AND c.due_at <= $3` + callable + `
			ORDER BY c.precedence, c.position LIMIT $4)
	), ranked AS (
		SELECT c.*, CASE WHEN ` + promoted + ` THEN 1 ELSE ` + lane + ` END AS rank,
			CASE WHEN c.due_class = 2 THEN NULL WHEN ` + promoted + ` THEN c.due_at + $5::interval
				ELSE c.due_at END AS rank_at
		FROM due c
	)
	SELECT ` + column.Names(table.ContactColumns, "c") + `,
		(SELECT v.variables FROM contact_variables v WHERE v.contact_id = c.id)
	FROM ranked c
	ORDER BY c.rank, c.precedence, c.rank_at, c.position LIMIT $4`

// DueContacts returns up to limit contacts that are due at order.Now, in that order. It leaves out
// those in except, contacts with a live attempt, and numbers that are held.
func (s *Roster) DueContacts(ctx context.Context, id engine.CampaignID, run int, order contact.Order, limit int,
	except []engine.ContactID) ([]contact.Contact, error) {
	skip := make(map[engine.ContactID]struct{}, len(except))
	for _, x := range except {
		skip[x] = struct{}{}
	}
	// The due contacts of except are among the first: with as many more rows the page is full, and
	// the server need not be sent each of them.
	var overdue *time.Duration
	if order.Overdue > 0 {
		overdue = &order.Overdue
	}
	rows, _ := s.db.Read.Query(ctx, dueContacts, string(id), run, order.Now, limit+len(skip), overdue)
	list, err := pgx.CollectRows(rows, table.ScanContact)
	if err != nil {
		return nil, s.db.Wrap("due contacts not read", err)
	}
	out := list[:0]
	for _, c := range list {
		if _, ok := skip[c.ID]; !ok && len(out) < limit {
			out = append(out, c)
		}
	}
	return out, nil
}

// openCap bounds how far NextDue counts.
const openCap = 10_000

// NextDue is the earliest due time of any waiting contact of the run, nil when none waits for a
// dial. open counts the contacts that are not final: those that wait for a dial, have a live
// attempt, or wait for a result; it is exact up to 10 000 and a lower bound beyond.
func (s *Roster) NextDue(ctx context.Context, id engine.CampaignID, run int) (next *time.Time, open int, err error) {
	err = s.db.Read.QueryRow(ctx, dueGroups+`
		SELECT (SELECT min(d.due_at) FROM g, LATERAL (
				SELECT c.due_at FROM contacts c WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL
					AND c.due_class = g.class AND `+dueGroup+` = g.grp ORDER BY c.due_at LIMIT 1) d),
			(SELECT count(*) FROM (
				SELECT id FROM (
					(SELECT c.id FROM contacts c WHERE c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL
						AND c.state IN ('pending', 'unanswered', 'connected') LIMIT $3)
					UNION
					(SELECT c.id FROM contacts c WHERE c.campaign_id = $1 AND c.run = $2 AND c.result_due_at IS NOT NULL
						AND c.state IN ('pending', 'unanswered', 'connected') LIMIT $3)
					UNION
					(SELECT c.id FROM attempts a JOIN contacts c ON c.id = a.contact_id
						WHERE a.live AND a.campaign_id = $1 AND c.run = $2
						AND c.state IN ('pending', 'unanswered', 'connected') LIMIT $3)
				) o LIMIT $3) n)`, string(id), run, openCap).Scan(&next, &open)
	return next, open, s.db.Wrap("next due time not read", err)
}

// Expired returns up to limit contacts of the run that wait for a dial and have expired, the earliest
// first, and when the next one expires, nil when none does.
func (s *Roster) Expired(ctx context.Context, id engine.CampaignID, run int, now time.Time,
	limit int) (list []contact.Contact, next *time.Time, err error) {
	const waiting = "c.campaign_id = $1 AND c.run = $2 AND c.due_at IS NOT NULL AND c.attempt_id IS NULL AND c.expires_at "
	rows, _ := s.db.Read.Query(ctx, table.SelectContact+"WHERE "+waiting+"<= $3 ORDER BY c.expires_at LIMIT $4",
		string(id), run, now, limit)
	list, err = pgx.CollectRows(rows, table.ScanContact)
	if err == nil {
		err = s.db.Read.QueryRow(ctx, "SELECT min(c.expires_at) FROM contacts c WHERE "+waiting+"> $3", string(id), run,
			now).Scan(&next)
	}
	return list, next, s.db.Wrap("expired contacts not read", err)
}

// Callable says whether a contact of the run waits for a dial that neither a suppression nor its
// expiry forbids, or has a call or a result pending.
func (s *Roster) Callable(ctx context.Context, id engine.CampaignID, run int, now time.Time) (some bool, err error) {
	err = s.db.Read.QueryRow(ctx, `SELECT EXISTS (SELECT FROM contacts c WHERE c.campaign_id = $1 AND c.run = $2
			AND c.state IN ('pending', 'unanswered', 'connected') AND (c.attempt_id IS NOT NULL
			OR c.result_due_at IS NOT NULL
				OR c.due_at IS NOT NULL AND (c.expires_at <= $3) IS NOT TRUE
					AND `+table.Goes("c")+`))`,
		string(id), run, now).Scan(&some)
	return some, s.db.Wrap("contacts not read", err)
}

// Exhausted says whether a contact of the run failed because its attempts were used up. It is
// called when a run is about to end.
func (s *Roster) Exhausted(ctx context.Context, id engine.CampaignID, run int) (some bool, err error) {
	err = s.db.Read.QueryRow(ctx, "SELECT EXISTS (SELECT FROM contacts WHERE campaign_id = $1 AND run = $2 "+
		"AND state = $3 AND reason = $4)",
		string(id), run, string(contact.Failed), contact.ReasonExhausted).Scan(&some)
	return some, s.db.Wrap("contacts not read", err)
}
