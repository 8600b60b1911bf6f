package lists

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/people"
	"dialler/persistence/column"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// Person returns all that is known of a number: who has it in which campaign, as the first number or
// beside it, the calls, and what keeps it from being called. Nothing is known of most numbers, which is
// no error.
func (s *Lists) Person(ctx context.Context, n engine.PhoneNumber) (p people.Person, err error) {
	p.Number = n
	rows, _ := s.db.Read.Query(ctx, `WITH found AS MATERIALIZED (
			SELECT k.id, k.campaign_id FROM campaigns g, contacts k WHERE k.campaign_id = g.id AND k.number = $1
			UNION SELECT o.contact_id, o.campaign_id FROM contact_numbers o WHERE o.number = $1
		) SELECT `+column.Names(table.ContactColumns, "c")+`, v.variables, g.name, g.state
		FROM found f JOIN contacts c ON c.id = f.id JOIN campaigns g ON g.id = f.campaign_id
		LEFT JOIN contact_variables v ON v.contact_id = c.id
		ORDER BY c.created_at DESC, c.id DESC LIMIT $2`, pool.PlannedEachTime, n.E164(), people.ContactsCap+1)
	p.Contacts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c people.Contact, err error) {
		to := column.Targets(table.ContactColumns, &c.Contact, make([]any, 0, len(table.ContactColumns)+3))
		err = row.Scan(append(to, &c.Variables, &c.Of.Name, &c.Of.State)...)
		c.Of.ID = c.Contact.Campaign
		return c, err
	})
	if err != nil {
		return p, s.db.Wrap("person not read", err)
	}
	p.Contacts, p.More = cut(p.Contacts, people.ContactsCap, p.More)
	numbers := numbersOf(&p)
	if err := s.personCalls(ctx, &p, numbers); err != nil {
		return p, err
	}
	if err := s.personExclusions(ctx, &p, numbers); err != nil {
		return p, err
	}
	names := slices.Clone(numbers)
	for _, n := range numbers {
		names = append(names, s.db.Hashed(engine.PhoneNumber(n)))
	}
	rows, _ = s.db.Read.Query(ctx, "SELECT number, reason, created_at FROM suppressions WHERE number = ANY($1::text[]) "+
		"AND until IS NULL ORDER BY created_at DESC, number", names)
	if p.Suppressed, err = pgx.CollectRows(rows, table.ScanSuppression); err != nil {
		return p, s.db.Wrap("suppression list not read", err)
	}
	for i := range p.Suppressed { // of an erased person the list has a hash
		if at := slices.Index(names, string(p.Suppressed[i].Number)); at >= len(numbers) {
			p.Suppressed[i].Number = engine.PhoneNumber(numbers[at-len(numbers)])
		}
	}
	// An erasure's block that passes holds a number as a call does.
	err = s.db.Read.QueryRow(ctx, `SELECT h.hold_until FROM (
			SELECT hold_until FROM number_holds WHERE number = ANY($1::text[]) AND (hold_until IS NULL OR hold_until > now())
			UNION ALL SELECT until FROM suppressions WHERE number = ANY($2::text[]) AND until > now()
		) h ORDER BY h.hold_until DESC NULLS FIRST LIMIT 1`, numbers, names).Scan(&p.HeldUntil)
	if p.Held = err == nil; errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return p, s.db.Wrap("hold not read", err)
}

// numbersOf are a person's numbers: the one that was asked for, and those of the contacts.
func numbersOf(p *people.Person) []string {
	numbers := []string{p.Number.E164()}
	for i := range p.Contacts {
		for n := range p.Contacts[i].Numbers() {
			if !slices.Contains(numbers, n.E164()) {
				numbers = append(numbers, n.E164())
			}
		}
	}
	return numbers
}

func cut[T any](list []T, most int, more bool) ([]T, bool) {
	if len(list) > most {
		return list[:most], true
	}
	return list, more
}

// personCalls reads the calls of the contacts and those that called one of them back, and those at the
// number that are of no contact: single calls, and calls that came in.
func (s *Lists) personCalls(ctx context.Context, p *people.Person, numbers []string) (err error) {
	ids := make([]string, len(p.Contacts))
	for i := range p.Contacts {
		ids[i] = string(p.Contacts[i].ID)
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+table.AttemptNames+` FROM attempts a WHERE a.to_number = ANY($1::text[])
		AND (a.contact_id = ANY($2::uuid[]) OR a.contact_id IS NULL AND (a.to_number = $3 OR a.inbound AND EXISTS (
			SELECT FROM attempts o WHERE o.id = a.returns AND o.contact_id = ANY($2::uuid[]))))
		ORDER BY a.id DESC LIMIT $4`, pool.PlannedEachTime, numbers, ids, p.Number.E164(), people.CallsCap+1)
	if p.Calls, err = pgx.CollectRows(rows, table.ScanAttempt); err != nil {
		return s.db.Wrap("calls not read", err)
	}
	p.Calls, p.More = cut(p.Calls, people.CallsCap, p.More)
	rows, _ = s.db.Read.Query(ctx, "SELECT "+table.ScheduledNames+` FROM scheduled_dialouts s WHERE s.to_number = $1
		ORDER BY s.id DESC LIMIT $2`, p.Number.E164(), people.CallsCap)
	waiting, err := pgx.CollectRows(rows, table.ScanScheduled)
	shown := make([]attempt.Attempt, len(waiting))
	for i := range waiting {
		shown[i] = waiting[i].Shown()
	}
	p.Calls = append(shown, p.Calls...)
	return s.db.Wrap("scheduled dialouts not read", err)
}

func (s *Lists) personExclusions(ctx context.Context, p *people.Person, numbers []string) (err error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT g.id, g.name, g.state, x.number, x.reason, x.created_at
		FROM campaigns g, exclusions x WHERE x.campaign_id = g.id AND x.number = ANY($1::text[]) AND x.match = '{}'
			AND NOT x.lifted ORDER BY x.created_at DESC, g.id LIMIT $2`, numbers, people.ExclusionsCap+1)
	p.Exclusions, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (x people.Exclusion, err error) {
		var at time.Time
		err = row.Scan(&x.Of.ID, &x.Of.Name, &x.Of.State, &x.Number, &x.Reason, &at)
		x.Exclusion.Campaign, x.CreatedAt = x.Of.ID, at
		return x, err
	})
	p.Exclusions, p.More = cut(p.Exclusions, people.ExclusionsCap, p.More)
	return s.db.Wrap("exclusions not read", err)
}
