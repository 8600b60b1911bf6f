// Package lists reads what the console and the reports show.
package lists

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

const (
	// callsSeen is how many attempts one query reads when filtering by what no index covers
	// (attempt.Query.Narrow): a page may be short or empty and still have a next cursor.
	callsSeen = 20_000
)

// Lists are what the console shows: calls, activity, charts, reports.
type Lists struct{ db *table.DB }

// NewLists returns the Lists stored in db.
func NewLists(db *table.DB) *Lists { return &Lists{db: db} }

// Calls returns attempts, without their legs, newest first, and the cursor for older ones, "" at
// the end. It returns ErrNoCursor when Before is no attempt, or no longer one. Among them are the dialouts
// that wait for their time, which is what their identifiers begin with.
//
// The attempts of a campaign are ordered by their reservation, others by their identifiers, which
// begin with the time: an index covers both.
func (s *Lists) Calls(ctx context.Context, q attempt.Query) (list []attempt.Attempt, next engine.AttemptID, err error) {
	if !q.Waiting() {
		return s.attempts(ctx, q)
	}
	if q.State != attempt.Scheduled {
		if list, next, err = s.attempts(ctx, q); err != nil {
			return nil, "", err
		}
	}
	waiting, err := s.scheduled(ctx, &q)
	if err != nil {
		return nil, "", err
	}
	for i := range waiting {
		list = append(list, waiting[i].Shown())
	}
	slices.SortFunc(list, func(a, b attempt.Attempt) int { return cmp.Compare(b.ID, a.ID) })
	if len(list) > q.Limit {
		list = list[:q.Limit]
		next = list[q.Limit-1].ID
	}
	return list, next, nil
}

// scheduled returns the dialouts of a query that wait for their time: one more than the page has.
func (s *Lists) scheduled(ctx context.Context, q *attempt.Query) ([]campaign.ScheduledDialout, error) {
	var before *string
	if q.Before != "" {
		if _, err := s.cursorAt(ctx, q.Before); err != nil {
			return nil, err
		}
		before = (*string)(&q.Before)
	}
	bound := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+table.ScheduledNames+` FROM scheduled_dialouts s
		WHERE ($1::uuid IS NULL OR s.id < $1) AND ($2 = '' OR s.to_number = $2)
		AND ($3::timestamptz IS NULL OR s.not_before >= $3) AND ($4::timestamptz IS NULL OR s.not_before < $4)
		ORDER BY s.id DESC LIMIT $5`, before, q.To.E164(), bound(q.From), bound(q.Until), q.Limit+1)
	list, err := pgx.CollectRows(rows, table.ScanScheduled)
	return list, s.db.Wrap("scheduled dialouts not read", err)
}

func (s *Lists) attempts(ctx context.Context, q attempt.Query) (list []attempt.Attempt, next engine.AttemptID,
	err error) {
	c, err := s.callsWhere(ctx, &q)
	if err != nil {
		return nil, "", err
	}
	inner := "SELECT a.* FROM attempts a " + c.where + c.order
	sql := inner
	if q.Narrow() {
		narrow, args := c.narrow(&q)
		sql = fmt.Sprintf("SELECT a.* FROM (%s LIMIT %d) a %s%s", inner, callsSeen, narrow, c.order)
		c.args = args
	}
	sql = fmt.Sprintf("SELECT %s FROM (%s LIMIT %d) a%s", table.AttemptNames, sql, q.Limit+1,
		c.order)
	rows, _ := s.db.Read.Query(ctx, sql, c.args...)
	list, err = pgx.CollectRows(rows, table.ScanAttempt)
	switch {
	case err != nil:
		return nil, "", s.db.Wrap("calls not read", err)
	case len(list) > q.Limit:
		list = list[:q.Limit]
		return list, list[q.Limit-1].ID, nil
	case !q.Narrow():
		return list, "", nil
	}
	// The last attempt that was read, if there may be more after it.
	err = s.db.Read.QueryRow(ctx, fmt.Sprintf("SELECT a.id FROM attempts a %s%s LIMIT 1 OFFSET %d", c.where, c.order,
		callsSeen-1), c.args[:c.own]...).
		Scan(column.Hex(&next))
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return list, next, s.db.Wrap("calls not read", err)
}

// callsQuery is a query of calls in SQL.
type callsQuery struct {
	where, order string
	args         []any
	own          int // arguments of where
}

func (s *Lists) callsWhere(ctx context.Context, q *attempt.Query) (c callsQuery, err error) {
	var conditions []string
	add := func(condition string, args ...any) {
		for i := range args {
			condition = strings.ReplaceAll(condition, fmt.Sprintf("{%d}", i), fmt.Sprintf("$%d", len(c.args)+i+1))
		}
		conditions, c.args = append(conditions, condition), append(c.args, args...)
	}
	c.order = " ORDER BY a.id DESC"
	if q.Campaign != "" && q.Contact == "" && q.To == "" {
		c.order = " ORDER BY a.reserved_at DESC, a.id DESC"
	}
	byID := c.order == " ORDER BY a.id DESC"
	if q.Before != "" {
		at, err := s.cursorAt(ctx, q.Before)
		if err != nil {
			return c, err
		}
		if byID {
			add("a.id < {0}::uuid", string(q.Before))
		} else {
			add("(a.reserved_at, a.id) < ({0}, {1}::uuid)", at, string(q.Before))
		}
	}
	if q.Campaign != "" {
		add("a.campaign_id = {0}", string(q.Campaign))
	}
	if q.Contact != "" {
		if !column.IsID(string(q.Contact)) {
			add("false")
		} else { // the index begins with the campaign
			add("a.campaign_id = (SELECT c.campaign_id FROM contacts c WHERE c.id = {0}::uuid) "+
				"AND a.contact_id = {0}::uuid", string(q.Contact))
		}
	}
	if q.Direction == attempt.Inbound { // an index has them alone; they are of no campaign
		add("a.inbound")
		if q.Campaign != "" || q.Contact != "" {
			add("false")
		}
	}
	if q.To != "" {
		add("a.to_number = {0}", q.To.E164())
	}
	if !q.From.IsZero() {
		add("a.reserved_at >= {0}", q.From)
		if byID {
			add("a.id >= {0}::uuid", table.IDAt(q.From.Add(-table.IDSlack)))
		}
	}
	if !q.Until.IsZero() {
		add("a.reserved_at < {0}", q.Until)
		if byID {
			add("a.id < {0}::uuid", table.IDAt(q.Until.Add(table.IDSlack)))
		}
	}
	if len(conditions) > 0 {
		c.where = "WHERE " + strings.Join(conditions, " AND ")
	}
	c.own = len(c.args)
	return c, nil
}

// narrow returns the conditions that no index covers.
func (c *callsQuery) narrow(q *attempt.Query) (where string, args []any) {
	args = c.args[:c.own:c.own]
	var conditions []string
	for _, x := range []struct{ column, value string }{{"trunk", string(q.Trunk)}, {"state", string(q.State)},
		{"outcome", string(q.Outcome)}} {
		if x.value != "" {
			args = append(args, x.value)
			conditions = append(conditions, fmt.Sprintf("a.%s = $%d", x.column, len(args)))
		}
	}
	if q.Direction == attempt.Outbound {
		conditions = append(conditions, "NOT a.inbound")
	}
	if q.Outcome == engine.OutcomeConnectedNoResult { // as shown to users
		conditions = append(conditions, "NOT "+table.AwaitsResult)
	}
	return "WHERE " + strings.Join(conditions, " AND "), args
}

// ErrNoCursor means that the call of a cursor no longer exists.
var ErrNoCursor = engine.NotFound("cursor_not_found", "")

func (s *Lists) cursorAt(ctx context.Context, id engine.AttemptID) (at *time.Time, err error) {
	if !column.IsID(string(id)) {
		return nil, ErrNoCursor
	}
	err = s.db.Read.QueryRow(ctx, "SELECT reserved_at FROM attempts WHERE id = $1 UNION ALL "+
		"SELECT not_before FROM scheduled_dialouts WHERE id = $1 LIMIT 1", string(id)).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrNoCursor
	}
	return at, s.db.Wrap("call not read", err)
}
