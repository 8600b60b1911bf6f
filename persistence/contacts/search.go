package contacts

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/people"
	"dialler/persistence/column"
	"dialler/persistence/failure"
	"dialler/persistence/table"
)

const (
	// searchTime bounds a search, and searchers how many run at the same time: each reads the text of all
	// contacts, some 60 MB for a million.
	searchTime = 3 * time.Second
	searchers  = 2
	// searchersWaiting is how many more may wait for them, for as long again: a request that reads holds one
	// of few places for as long as it waits.
	searchersWaiting = 8
	// searchedRows is how many matching contacts a search over all campaigns looks at.
	searchedRows = 200
	// searchedOf is how many contacts of one person it shows.
	searchedOf = 50
)

var errSearchSlow = engine.Unavailable("search_too_slow", "the search took longer than 3 s and was ended; type more, "+
	"or try again when the database has less to do", 5*time.Second)

var errSearchBusy = engine.Unavailable("search_busy", "", 2*time.Second)

// admitted is called by a search that may run; it calls done when it has ended.
func (s *Roster) admitted(ctx context.Context) (done func(), err error) {
	select {
	case s.waiting <- struct{}{}:
	default:
		return nil, errSearchBusy
	}
	patience := time.NewTimer(searchTime)
	defer patience.Stop()
	select {
	case s.searching <- struct{}{}:
		return func() { <-s.searching; <-s.waiting }, nil
	case <-patience.C:
		err = errSearchBusy
	case <-ctx.Done():
		err = s.db.Wrap("contacts not searched", ctx.Err())
	}
	<-s.waiting
	return nil, err
}

// search runs f in a transaction that reads what is searched in its order, and only as far as needed, for
// a bounded time.
func (s *Roster) search(asked context.Context, f func(pgx.Tx) error) error {
	done, err := s.admitted(asked)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(asked, searchTime)
	defer cancel()
	err = s.db.InTxOf(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, "contacts not searched", func(tx pgx.Tx) error {
		// Without them the planner might read and sort all there is for the newest few.
		if _, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; "+
			"SET LOCAL enable_bitmapscan = off; SET LOCAL statement_timeout = "+
			strconv.FormatInt(searchTime.Milliseconds(), 10)); err != nil {
			return err
		}
		return f(tx)
	})
	state, _ := failure.SQLState(err)
	if err != nil && (state == "57014" || ctx.Err() != nil) && asked.Err() == nil {
		return errSearchSlow
	}
	return err
}

// sought is a search with its words as texts are compared.
type sought struct {
	args []any
	word []string // their parameters
	or   string   // that of the digits, or ""
}

func newSought(ctx context.Context, tx pgx.Tx, q *contact.Search, args ...any) (*sought, error) {
	rows, _ := tx.Query(ctx, "SELECT search_fold(w) FROM unnest($1::text[]) WITH ORDINALITY u(w, n) ORDER BY n", q.Words)
	words, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	x := &sought{args: args}
	for _, w := range words {
		x.word = append(x.word, x.arg(w)+"::text")
	}
	if q.Digits != "" {
		x.or = x.arg(q.Digits) + "::text"
	}
	return x, nil
}

func (x *sought) arg(v any) string {
	x.args = append(x.args, v)
	return "$" + strconv.Itoa(len(x.args))
}

// in is the SQL condition that a text has what is sought.
func (x *sought) in(text string) string {
	has := make([]string, len(x.word))
	for i, w := range x.word {
		has[i] = "position(" + w + " IN " + text + ") > 0"
	}
	all := strings.Join(has, " AND ")
	if x.or != "" {
		return "(" + all + " OR position(" + x.or + " IN " + text + ") > 0)"
	}
	return "(" + all + ")"
}

// found is the SQL of matching contacts, the newest first: those whose line has what is sought, and who
// have it still. One comes for each of the lines. The contacts are looked up one by one (OFFSET 0).
func (x *sought) found(of string) string {
	return `SELECT k.id, k.number FROM contact_search s
		CROSS JOIN LATERAL (SELECT u.contact FROM unnest(s.contacts, string_to_array(s.lines, E'\n')) u(contact, line)
			WHERE ` + x.in("u.line") + `) u
		CROSS JOIN LATERAL (SELECT c.id, c.number FROM contacts c LEFT JOIN contact_variables v ON v.contact_id = c.id
			WHERE c.id = u.contact AND ` + x.in("search_line(c.number, c.alternates, v.variables)") + ` OFFSET 0) k
		WHERE ` + of + x.in("s.lines") + " ORDER BY s.id DESC"
}

// SearchPeople finds people in all campaigns, up to limit of them, the latest added first.
func (s *Roster) SearchPeople(ctx context.Context, q contact.Search, limit int) (out people.Searched, err error) {
	err = s.search(ctx, func(tx pgx.Tx) error {
		out = people.Searched{}
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM contact_search_unread)").Scan(&out.Partial); err != nil {
			return err
		}
		x, err := newSought(ctx, tx, &q)
		if err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, x.found("")+" LIMIT "+x.arg(searchedRows), x.args...)
		var numbers []string
		seen, read := map[string]int{}, 0
		var id, number string
		if _, err := pgx.ForEachRow(rows, []any{column.Hex(&id), &number}, func() error {
			read++
			if _, known := seen[number]; known {
				return nil
			}
			if len(numbers) == limit {
				out.More = true
				return nil
			}
			seen[number] = len(numbers)
			numbers = append(numbers, number)
			return nil
		}); err != nil {
			return err
		}
		out.More = out.More || read == searchedRows
		if out.People, err = contactsOf(ctx, tx, numbers, seen); err != nil {
			return err
		}
		out.Campaigns, err = searchCampaigns(ctx, tx, &q)
		return err
	})
	return out, err
}

// contactsOf reads the contacts of people in all campaigns.
func contactsOf(ctx context.Context, tx pgx.Tx, numbers []string, at map[string]int) ([]people.Found, error) {
	list := make([]people.Found, len(numbers))
	for i, n := range numbers {
		list[i].Number = engine.PhoneNumber(n)
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	rows, _ := tx.Query(ctx, "SELECT "+column.Names(table.ContactColumns, "k")+`, v.variables, g.name, g.state
		FROM unnest($1::text[]) n(number)
		CROSS JOIN LATERAL (SELECT o.* FROM campaigns g CROSS JOIN LATERAL (SELECT c.* FROM contacts c
				WHERE c.campaign_id = g.id AND c.number = n.number OFFSET 0) o
			ORDER BY o.created_at DESC, o.id DESC LIMIT $2) k
		JOIN campaigns g ON g.id = k.campaign_id
		LEFT JOIN contact_variables v ON v.contact_id = k.id`, numbers, searchedOf)
	all, err := pgx.CollectRows(rows, scanPersonContact)
	for i := range all {
		p := &list[at[string(all[i].Number)]]
		p.Contacts = append(p.Contacts, all[i])
	}
	for i := range list {
		latestFirst(list[i].Contacts)
	}
	return list, err
}

func latestFirst(list []people.Contact) {
	slices.SortFunc(list, func(a, b people.Contact) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(string(b.ID), string(a.ID))
	})
}

func scanPersonContact(row pgx.CollectableRow) (c people.Contact, err error) {
	to := column.Targets(table.ContactColumns, &c.Contact, make([]any, 0, len(table.ContactColumns)+3))
	err = row.Scan(append(to, &c.Variables, &c.Of.Name, &c.Of.State)...)
	c.Of.ID = c.Contact.Campaign
	return c, err
}

// campaignsFound is how many campaigns a search shows.
const campaignsFound = 10

func searchCampaigns(ctx context.Context, tx pgx.Tx, q *contact.Search) ([]people.CampaignOf, error) {
	x, err := newSought(ctx, tx, &contact.Search{Words: q.Words})
	if err != nil {
		return nil, err
	}
	rows, _ := tx.Query(ctx, "SELECT g.id, g.name, g.state FROM campaigns g WHERE "+
		x.in("' ' || search_fold(g.name) || ' ' || lower(g.id) || ' '")+
		" ORDER BY g.created_at DESC, g.id LIMIT "+x.arg(campaignsFound), x.args...)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c people.CampaignOf, err error) {
		return c, row.Scan(&c.ID, &c.Name, &c.State)
	})
}

// matching returns the contacts of a campaign that a search finds. It returns contact.ErrSearchBroad if
// they are too many, and Unavailable while not all contacts can be searched.
func (s *Roster) matching(ctx context.Context, id engine.CampaignID, q *contact.Search) (ids []string, err error) {
	err = s.search(ctx, func(tx pgx.Tx) error {
		var unread bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM contact_search_unread WHERE campaign_id = $1)",
			string(id)).Scan(&unread); err != nil {
			return err
		}
		if unread {
			return engine.Unavailable("search_not_ready", "", time.Minute)
		}
		x, err := newSought(ctx, tx, q, string(id))
		if err != nil {
			return err
		}
		ids, err = matchingOf(ctx, tx, x)
		return err
	})
	return ids, err
}

// matchingOf reads the contacts that a search of a campaign finds. A contact comes once for each of its lines, the
// latest first: twice, unless much changed since they were put together. Each line costs a look at its contact, so
// it is first read as far as shows that contacts without a second line are too many.
func matchingOf(ctx context.Context, tx pgx.Tx, x *sought) (ids []string, err error) {
	sql := x.found("s.campaign_id = $1 AND ") + " LIMIT "
	for _, most := range []int{contact.SearchedCap + 1, 2*contact.SearchedCap + 1} {
		rows, _ := tx.Query(ctx, sql+strconv.Itoa(most), x.args...)
		var one, number string
		read := 0
		ids = nil
		if _, err = pgx.ForEachRow(rows, []any{column.Hex(&one), &number}, func() error {
			ids = append(ids, one)
			read++
			return nil
		}); err != nil {
			return nil, err
		}
		slices.Sort(ids)
		switch ids = slices.Compact(ids); {
		case len(ids) > contact.SearchedCap:
			return nil, contact.ErrSearchBroad
		case read < most:
			return ids, nil
		}
	}
	return nil, contact.ErrSearchBroad
}

const (
	// searchPart is how many contacts one row of what is searched has, and readAtOnce how many are read in
	// one transaction.
	searchPart = 500
	readAtOnce = 10_000
	// untidy is the SQL condition for rows that are put together: small ones, and those of contacts that have
	// earlier lines. smallRows is how many of a campaign there are then, unless former lines are an hour old.
	untidy    = "(size < 250 OR changed)"
	smallRows = 50
)

// insertLines makes the rows of contacts c of one campaign ($1), given their rank.
const insertLines = `INSERT INTO contact_search (campaign_id, size, contacts, lines)
	SELECT $1, count(*), array_agg(l.id ORDER BY l.rank), string_agg(l.line, E'\n' ORDER BY l.rank)
	FROM (SELECT c.id, c.rank, search_line(c.number, c.alternates, (SELECT v.variables FROM contact_variables v
		WHERE v.contact_id = c.id)) AS line FROM c) l
	GROUP BY (l.rank - 1) / `

// TidySearch reads contacts from before an update into what is searched, a part at a time, and puts untidy
// rows together. more says that there is more to be read at once.
func (s *Roster) TidySearch(ctx context.Context) (more bool, err error) {
	if more, err = s.readUnread(ctx); err != nil || more {
		return more, err
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT campaign_id FROM contact_search WHERE "+untidy+" GROUP BY campaign_id "+
		"HAVING count(*) >= $1 OR min(added_at) FILTER (WHERE changed) < now() - interval '1 hour'", smallRows)
	campaigns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return false, s.db.Wrap("search not tidied", err)
	}
	for _, id := range campaigns {
		if err := s.putTogether(ctx, id); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (s *Roster) readUnread(ctx context.Context) (more bool, err error) {
	err = s.db.InTx(ctx, "contacts not read into the search", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, table.LockSearched); err != nil {
			return err
		}
		var id string
		var position int64
		err := tx.QueryRow(ctx, "SELECT campaign_id, position FROM contact_search_unread ORDER BY campaign_id LIMIT 1").
			Scan(&id, &position)
		if more = err == nil; errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
			return err
		}
		// Two may have one position: the last is read again.
		var read int
		var last *int64
		const part = "FROM contacts k WHERE k.campaign_id = $1 AND k.position >= $2 ORDER BY k.position LIMIT $3"
		if err := tx.QueryRow(ctx, "SELECT count(*), max(position) FROM (SELECT k.position "+part+") k", id, position,
			readAtOnce).Scan(&read, &last); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `WITH c AS MATERIALIZED (
				SELECT k.id, k.number, k.alternates, row_number() OVER (ORDER BY k.position) AS rank
				FROM (SELECT k.* `+part+`) k
			) `+insertLines+strconv.Itoa(searchPart), id, position, readAtOnce); err != nil {
			return err
		}
		if read < readAtOnce {
			_, err = tx.Exec(ctx, "DELETE FROM contact_search_unread WHERE campaign_id = $1", id)
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE contact_search_unread SET position = $2 WHERE campaign_id = $1", id, *last)
		return err
	})
	return more, err
}

// putTogether makes large rows of a campaign's untidy ones, with the contacts as they are now, of some
// readAtOnce of them: an erasure waits meanwhile.
func (s *Roster) putTogether(ctx context.Context, id string) error {
	return s.db.InTx(ctx, "search not tidied", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, table.LockSearched); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `DELETE FROM contact_search s USING (
				SELECT id, size, sum(size) OVER (ORDER BY id) AS total FROM (SELECT id, size FROM contact_search
					WHERE campaign_id = $1 AND `+untidy+` ORDER BY id LIMIT $2) r) o
			WHERE s.id = o.id AND o.total - o.size < $2 RETURNING s.changed, s.contacts::text[]`, id, readAtOnce)
		var of, changed []string
		var again bool
		var contacts []string
		if _, err := pgx.ForEachRow(rows, []any{&again, &contacts}, func() error {
			of = append(of, contacts...)
			if again {
				changed = append(changed, contacts...)
			}
			contacts = nil
			return nil
		}); err != nil {
			return err
		}
		if len(changed) > 0 {
			if _, err := tx.Exec(ctx, table.BlankSearched, id, changed); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `WITH c AS MATERIALIZED (
				SELECT k.id, k.number, k.alternates, row_number() OVER (ORDER BY k.position, k.id) AS rank
				FROM (SELECT DISTINCT u AS id FROM unnest($2::uuid[]) u) u
				CROSS JOIN LATERAL (SELECT c.* FROM contacts c WHERE c.id = u.id AND c.campaign_id = $1 OFFSET 0) k
			) `+insertLines+strconv.Itoa(searchPart), id, of)
		return err
	})
}

// ForgetSearched drops what is searched of campaigns that are no more: a process of the release before
// deletes a campaign without it.
func (s *Roster) ForgetSearched(ctx context.Context) error {
	_, err := s.db.Read.Exec(ctx, `DELETE FROM contact_search s
		WHERE NOT EXISTS (SELECT FROM campaigns c WHERE c.id = s.campaign_id)`)
	return s.db.Wrap("search not tidied", err)
}
