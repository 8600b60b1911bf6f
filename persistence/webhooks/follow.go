package webhooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/chain"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/webhook"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// The outbox reads the history behind the writers, in the order of its chains, and makes messages
// of it. A rolled-back event is in no chain, and no event of a chain can be missed, because its
// batches are numbered under the lock of its head. The position it has read to is committed
// together with the messages. One process at a time reads; its lock is on a row, so that it ends
// with the transaction.

// Limits of one step.
const (
	followBatches = 400  // batches of all chains
	followChains  = 1000 // chains
)

// Followed is what one step of FollowEvents did.
type Followed struct {
	Elsewhere bool // another process reads, or there is no endpoint
	Batches   int
	Messages  int
	Jobs      int
	More      bool // there is more to read
}

// chainPart is the unread part of a chain: batches lo+1 to hi.
type chainPart struct {
	Campaign string
	Run      int
	Lo, Hi   int64
}

// FollowEvents makes messages of the next committed events, and jobs that deliver them.
func (s *Endpoints) FollowEvents(ctx context.Context) (f Followed, err error) {
	err = s.db.InTx(ctx, "events not followed", func(tx pgx.Tx) error {
		f = Followed{}
		var following bool
		err := tx.QueryRow(ctx, "SELECT following FROM webhook_follower FOR UPDATE SKIP LOCKED").Scan(&following)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && !following {
			f.Elsewhere = true
			return nil
		}
		if err != nil {
			return err
		}
		parts, err := behind(ctx, tx)
		if err != nil || len(parts) == 0 {
			return err
		}
		f.More = trim(parts)
		return s.followParts(ctx, tx, parts, &f)
	})
	return f, err
}

func behind(ctx context.Context, tx pgx.Tx) ([]chainPart, error) {
	rows, _ := tx.Query(ctx, `SELECT h.campaign_id, h.run, coalesce(c.n, 0), h.n FROM event_heads h
		LEFT JOIN webhook_cursors c ON c.campaign_id = h.campaign_id AND c.run = h.run
		WHERE h.n > coalesce(c.n, 0) LIMIT $1`, followChains)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[chainPart])
}

// trim gives each chain its share of a step, and says whether anything is left.
func trim(parts []chainPart) (more bool) {
	share := int64(max(1, followBatches/len(parts)))
	for i := range parts {
		if p := &parts[i]; p.Hi-p.Lo > share {
			p.Hi, more = p.Lo+share, true
		}
	}
	return more || len(parts) == followChains
}

func (s *Endpoints) followParts(ctx context.Context, tx pgx.Tx, parts []chainPart, f *Followed) error {
	endpoints, names, err := listeners(ctx, tx)
	if err != nil {
		return err
	}
	facts, batches, err := readFacts(ctx, tx, parts, webhook.Sources(names))
	if err != nil {
		return err
	}
	f.Batches = batches
	if err := complete(ctx, tx, facts); err != nil {
		return err
	}
	callbacks, err := callbacksOf(ctx, tx, endpoints, facts)
	if err != nil {
		return err
	}
	var messages []webhook.Message
	var to []addressed
	for i := range facts {
		for _, m := range webhook.Messages(&facts[i], names) {
			if c := callbacks[m.Subject]; c != nil && c.Wants(&m) {
				own := m.To(c.URL)
				messages, to = append(messages, own), append(to, addressed{endpoint: c.Endpoint, message: own.ID})
			}
			wanted := false
			for j := range endpoints {
				if endpoints[j].Wants(m.Type, m.Campaign) {
					to, wanted = append(to, addressed{endpoint: endpoints[j].ID, message: m.ID}), true
				}
			}
			if wanted {
				messages = append(messages, m)
			}
		}
	}
	if len(messages) > 0 {
		jobs, err := putMessages(ctx, tx, messages, to, s.db.Config.Now())
		if err != nil {
			return err
		}
		if err := s.enqueue(ctx, tx, jobs); err != nil {
			return err
		}
		f.Messages, f.Jobs = len(messages), len(jobs)
	}
	return keepCursors(ctx, tx, parts)
}

// callbacksOf reads the addresses that requests named for the calls of facts, by their subjects. Those are left out
// that no endpoint allows now.
func callbacksOf(ctx context.Context, tx pgx.Tx, endpoints []webhook.Endpoint,
	facts []webhook.Fact) (map[string]*webhook.Callback, error) {
	if !slices.ContainsFunc(endpoints, func(e webhook.Endpoint) bool {
		return slices.Contains(e.Types, webhook.StatusCallback)
	}) {
		return nil, nil
	}
	campaigns := map[string]engine.CampaignID{}
	var subjects []string
	for i := range facts {
		id := webhook.Subject(&facts[i])
		if _, seen := campaigns[id]; !seen && column.IsID(id) {
			campaigns[id] = facts[i].Campaign
			subjects = append(subjects, id)
		}
	}
	rows, _ := tx.Query(ctx, "SELECT subject, webhook_id, url, types FROM webhook_callbacks "+
		"WHERE subject = ANY($1::uuid[])", subjects)
	out := map[string]*webhook.Callback{}
	_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		c := &webhook.Callback{}
		err := row.Scan(column.Hex(&c.Subject), &c.Endpoint, &c.URL, &c.Types)
		if err == nil {
			if e := c.Through(endpoints, campaigns[c.Subject]); e != nil {
				c.Endpoint, out[c.Subject] = e.ID, c
			}
		}
		return struct{}{}, err
	})
	return out, err
}

func keepCursors(ctx context.Context, tx pgx.Tx, parts []chainPart) error {
	campaigns, runs, at := make([]string, len(parts)), make([]int, len(parts)), make([]int64, len(parts))
	for i, p := range parts {
		campaigns[i], runs[i], at[i] = p.Campaign, p.Run, p.Hi
	}
	_, err := tx.Exec(ctx, `INSERT INTO webhook_cursors (campaign_id, run, n) SELECT *
		FROM unnest($1::text[], $2::integer[], $3::bigint[])
		ON CONFLICT (campaign_id, run) DO UPDATE SET n = excluded.n`, campaigns, runs, at)
	return err
}

// listeners returns the active endpoints, oldest first, and the types that at least one of them is told of.
func listeners(ctx context.Context, tx pgx.Tx) (list []webhook.Endpoint, names []string, err error) {
	rows, _ := tx.Query(ctx, "SELECT "+webhookColumns+" FROM webhooks WHERE active ORDER BY created_at, id")
	if list, err = pgx.CollectRows(rows, scanWebhook); err != nil {
		return nil, nil, err
	}
	for i := range list {
		for _, name := range list[i].Asked() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return list, names, nil
}

// readFacts reads the events of the wanted types from parts of chains, in order within each, and
// counts the batches.
func readFacts(ctx context.Context, tx pgx.Tx, parts []chainPart, types []journal.Type) (facts []webhook.Fact,
	batches int, err error) {
	campaigns, runs, lo, hi := make([]string, len(parts)), make([]int, len(parts)), make([]int64, len(parts)),
		make([]int64, len(parts))
	for i, p := range parts {
		campaigns[i], runs[i], lo[i], hi[i] = p.Campaign, p.Run, p.Lo, p.Hi
	}
	rows, _ := tx.Query(ctx, `SELECT b.campaign_id, b.run, b.seqs, b.digests, b.attempts
		FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[]) u(campaign_id, run, lo, hi)
		JOIN event_batches b ON b.campaign_id = u.campaign_id AND b.run = u.run AND b.n > u.lo AND b.n <= u.hi`,
		campaigns, runs, lo, hi)
	var of []string
	var seqs []int64
	var l looseEvents
	var campaign string
	var run int
	var batch []int64
	var digests []byte
	var attempts []string
	if _, err = pgx.ForEachRow(rows, []any{&campaign, &run, &batch, &digests, &attempts}, func() error {
		batches++
		for _, seq := range batch {
			of, seqs = append(of, campaign), append(seqs, seq)
		}
		if campaign == "" {
			l.add(run, digests, attempts)
		}
		return nil
	}); err != nil {
		return nil, 0, err
	}
	found, _ := tx.Query(ctx, "SELECT "+column.Names(table.EventColumns,
		"e")+` FROM unnest($1::text[], $2::bigint[]) u(campaign_id, seq)
		JOIN events e ON e.campaign_id = u.campaign_id AND e.seq = u.seq WHERE e.seq > 0 AND e.type = ANY($3::text[])
		ORDER BY e.campaign_id, e.seq`, of, seqs, types)
	if facts, err = pgx.CollectRows(found, scanFact); err != nil {
		return nil, 0, err
	}
	loose, err := l.read(ctx, tx, types)
	return append(facts, loose...), batches, err
}

func scanFact(row pgx.CollectableRow) (f webhook.Fact, err error) {
	err = row.Scan(column.Targets(table.EventColumns, &table.EventRow{Event: &f.Event}, make([]any, 0,
		len(table.EventColumns)))...)
	return f, err
}

// looseEvents are the events of calls outside campaigns: they have no numbers, so they are found by
// their attempts and identified by their digests.
type looseEvents struct {
	digests  map[chain.Hash]struct{}
	attempts []string
	months   []int // of batches written by an older program, which do not name their attempts
}

func (l *looseEvents) add(run int, digests []byte, attempts []string) {
	if l.digests == nil {
		l.digests = map[chain.Hash]struct{}{}
	}
	for ; len(digests) >= len(chain.Hash{}); digests = digests[len(chain.Hash{}):] {
		l.digests[chain.Hash(digests)] = struct{}{}
	}
	l.attempts = append(l.attempts, attempts...)
	if attempts == nil {
		l.months = append(l.months, run/100)
	}
}

func (l *looseEvents) read(ctx context.Context, tx pgx.Tx, types []journal.Type) (facts []webhook.Fact, err error) {
	collect := func(where string, args ...any) error {
		rows, _ := tx.Query(ctx, "SELECT e.digest, "+column.Names(table.EventColumns,
			"e")+" FROM events e WHERE e.seq = 0 AND e.type = ANY($1::text[]) AND "+where+
			" ORDER BY e.at, e.attempt_id, e.type, e.leg", append([]any{types}, args...)...)
		_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
			var digest []byte
			var f webhook.Fact
			err := row.Scan(column.Targets(table.EventColumns, &table.EventRow{Event: &f.Event}, []any{&digest})...)
			if err == nil && len(digest) == len(chain.Hash{}) {
				if _, ours := l.digests[chain.Hash(digest)]; ours {
					delete(l.digests, chain.Hash(digest))
					facts = append(facts, f)
				}
			}
			return struct{}{}, err
		})
		return err
	}
	if len(l.attempts) > 0 {
		if err = collect("e.attempt_id = ANY($2::uuid[])", l.attempts); err != nil {
			return nil, err
		}
	}
	seen := map[int]bool{}
	for _, m := range l.months {
		if seen[m] {
			continue
		}
		seen[m] = true
		first := time.Date(m/100, time.Month(m%100), 1, 0, 0, 0, 0, time.UTC)
		digests := make([][]byte, 0, len(l.digests))
		for d := range l.digests {
			digests = append(digests, append([]byte(nil), d[:]...))
		}
		if err = collect("e.attempt_id IS NOT NULL AND e.at >= $2 AND e.at < $3 AND e.digest = ANY($4::bytea[])",
			first, first.AddDate(0, 1, 0), digests); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// complete reads the rows that the events are about.
func complete(ctx context.Context, tx pgx.Tx, facts []webhook.Fact) error {
	var calls, people []string
	for i := range facts {
		if id := string(facts[i].Attempt); column.IsID(id) {
			calls = append(calls, id)
		}
		if id := string(facts[i].Contact); column.IsID(id) {
			people = append(people, id)
		}
	}
	if len(calls) == 0 && len(people) == 0 {
		return nil
	}
	rows, _ := tx.Query(ctx, table.SelectAttempt+"WHERE a.id = ANY($1::uuid[])", calls)
	attempts, err := pgx.CollectRows(rows, table.ScanAttempt)
	if err != nil {
		return err
	}
	rows, _ = tx.Query(ctx, table.SelectContact+"WHERE c.id = ANY($1::uuid[])", people)
	contacts, err := pgx.CollectRows(rows, table.ScanContact)
	if err != nil {
		return err
	}
	byCall, byPerson := make(map[engine.AttemptID]*attempt.Attempt, len(attempts)),
		make(map[engine.ContactID]*contact.Contact, len(contacts))
	for i := range attempts {
		byCall[attempts[i].ID] = &attempts[i]
	}
	for i := range contacts {
		byPerson[contacts[i].ID] = &contacts[i]
	}
	for i := range facts {
		facts[i].Call, facts[i].Person = byCall[facts[i].Attempt], byPerson[facts[i].Contact]
	}
	return nil
}
