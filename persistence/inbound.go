package persistence

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/inbound"
)

// CallIn returns what is known of a call that came in: which of the numbers called is ours, its rule, and
// the last call from it, since a time, to one of the numbers that may be the caller's.
func (s *Store) CallIn(ctx context.Context, to, from []engine.PhoneNumber, since time.Time) (*inbound.Called, error) {
	c := &inbound.Called{}
	err := s.db.Read.QueryRow(ctx, `SELECT number, callback_policy, callback_bot, callback_message FROM numbers
		WHERE number = ANY($1::text[]) ORDER BY array_position($1::text[], number) LIMIT 1`, to).
		Scan(&c.Number, &c.Rule.Policy, &c.Rule.Bot, &c.Rule.Message)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return c, nil
	case err != nil:
		return nil, s.db.Wrap("number of a call not read", err)
	case len(from) == 0:
		return c, nil
	}
	l := &inbound.Last{}
	err = s.db.Read.QueryRow(ctx, `SELECT replace(a.id::text, '-', ''), a.to_number, a.reserved_at,
			coalesce(c.settings->>'callback_policy', ''), coalesce(c.bot_id, ''),
			coalesce(c.settings->>'callback_message_id', ''), coalesce(v.variables, a.variables)
		FROM attempts a LEFT JOIN campaigns c ON c.id = a.campaign_id
		LEFT JOIN contact_variables v ON v.contact_id = a.contact_id
		WHERE a.to_number = ANY($2::text[]) AND a.from_number = $1 AND a.reserved_at >= $3 AND NOT a.inbound
			AND a.invite_at IS NOT NULL
		ORDER BY a.reserved_at DESC LIMIT 1`, c.Number, from, since).
		Scan(&l.Attempt, &c.Caller, &l.At, &l.Rule.Policy, &l.Rule.Bot, &l.Rule.Message, &l.Variables)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return c, nil
	case err != nil:
		return nil, s.db.Wrap("last call to a caller not read", err)
	}
	c.Last = l
	return c, nil
}

// CallsBackUntold implements dialout.Store. An index has the calls that came in by their identifiers, which
// begin with their time.
func (s *Store) CallsBackUntold(ctx context.Context, since time.Time, limit int) ([]attempt.Attempt, error) {
	return s.db.Attempts(ctx, `WHERE a.inbound AND a.id >= (lpad(to_hex((extract(epoch FROM $1::timestamptz) * 1000)
			::bigint), 12, '0') || repeat('0', 20))::uuid AND NOT a.live AND a.returns IS NOT NULL
		AND (a.result IS NOT NULL AND a.served_at IS NOT NULL AND a.bot_id <> '' OR a.ending->>'opted_out' = 'true')
		AND EXISTS (SELECT FROM attempts r JOIN contacts c ON c.id = r.contact_id
			WHERE r.id = a.returns AND NOT starts_with(c.number, '`+engine.ErasedPrefix+`') AND (c.calls_back IS NULL
				OR c.calls_back < a.id OR c.calls_back = a.id AND c.calls_back_until IS NOT NULL
				OR c.calls_back > a.id AND c.choice & `+strconv.Itoa(int(contact.ChoiceKept))+` = 0
					AND (a.ending->>'opted_out' = 'true' OR a.result->>'do_not_call' = 'true')))
		ORDER BY a.id LIMIT $2`, since, limit)
}
