package history

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	entries "dialler/engine/spine"
	"dialler/persistence/spine"
)

// AuditSince audits what was written after the last seal before a time: each chain from where that seal
// has it, each event since, and each row that a transaction since then wrote. What is older is taken
// as sealed: AuditSpine says whether the seals are genuine, and compares the chains with them. f is
// called for each campaign with such batches, and for those of none.
func (s *Records) AuditSince(ctx context.Context, at time.Time, f func(Audit)) (sealed time.Time, err error) {
	err = pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, lookUp); err != nil {
				return err
			}
			heads, err := headsAt(ctx, tx, at, &sealed)
			if err != nil {
				return err
			}
			moved, err := movedSince(ctx, tx, heads)
			if err != nil {
				return err
			}
			for _, id := range slices.Sorted(maps.Keys(moved)) {
				out, err := s.auditSince(ctx, tx, id, moved[id], sealed)
				if err != nil {
					return err
				}
				f(out)
			}
			return nil
		})
	return sealed, s.db.Wrap("what was written since a seal not audited", err)
}

// lookUp makes an audit since a seal look up what the batches name, row by row: the planner, which does not
// know how little that is of a table, must not read all of it.
const lookUp = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; " +
	"SET LOCAL enable_material = off"

// headsAt are where chains stood at the last seal before a time.
func headsAt(ctx context.Context, tx pgx.Tx, at time.Time, sealed *time.Time) (entries.Heads, error) {
	heads, pending := entries.Heads{}, []entries.Entry{}
	for after := int64(0); ; {
		list, err := spine.Kinds(ctx, tx, after, auditPage, entries.KindGenesis, entries.KindSeal, entries.KindRetention)
		if err != nil {
			return nil, err
		}
		for i := range list {
			e := &list[i]
			if after = e.N; e.At.After(at) {
				return heads, nil
			}
			if pending = append(pending, *e); e.Kind == entries.KindRetention {
				continue
			}
			for j := range pending {
				heads.Seen(&pending[j])
			}
			pending, *sealed = pending[:0], e.At
		}
		if len(list) < auditPage {
			return heads, nil
		}
	}
}

// movedSince are the chains that stand elsewhere now, from where they stood.
func movedSince(ctx context.Context, tx pgx.Tx, heads entries.Heads) (map[engine.CampaignID]map[int]chain.Verifier,
	error) {
	moved := map[engine.CampaignID]map[int]chain.Verifier{}
	rows, _ := tx.Query(ctx, "SELECT h.campaign_id, h.run, h.n FROM event_heads h")
	var at entries.Chain
	var n int64
	_, err := pgx.ForEachRow(rows, []any{&at.Campaign, &at.Run, &n}, func() error {
		h := heads[at]
		if h.N == n {
			return nil
		}
		if moved[at.Campaign] == nil {
			moved[at.Campaign] = map[int]chain.Verifier{}
		}
		hash, err := chain.ParseHash(h.Hash)
		moved[at.Campaign][at.Run] = chain.Verifier{N: h.N, Hash: hash}
		return err
	})
	return moved, err
}

func (s *Records) auditSince(ctx context.Context, tx pgx.Tx, id engine.CampaignID, from map[int]chain.Verifier,
	sealed time.Time) (out Audit, err error) {
	out = Audit{Campaign: id, Runs: []RunAudit{}, Findings: []Finding{}}
	a := &auditor{Audit: &out, ctx: ctx, tx: tx, id: id, from: from, progress: s.progress}
	if a.written, err = s.newWritten(a); err != nil {
		return out, err
	}
	defer a.written.close()
	a.written.since = true
	events := a.eventsSince
	if id == "" {
		events = func() error { return a.looseSince(sealed) }
	}
	return out, s.beside(a, events, (*auditor).chainsAndRows)
}

// starts are the chains of an audit since a seal, as parameters.
func (a *auditor) starts() (runs []int, ns []int64) {
	for run, v := range a.from {
		runs, ns = append(runs, run), append(ns, v.N)
	}
	return runs, ns
}

// eventsSince checks the events of the batches since the seal.
func (a *auditor) eventsSince() error {
	runs, ns := a.starts()
	return eachEvent(a.ctx, a.tx, `FROM event_batches b
		JOIN unnest($2::integer[], $3::bigint[]) AS f(run, n) ON f.run = b.run AND b.n > f.n
		JOIN events e ON e.campaign_id = b.campaign_id AND e.run = b.run AND e.seq > 0 AND e.seq = ANY (b.seqs)
		WHERE b.campaign_id = $1`, func(e *storedEvent) error {
		a.read()
		if e.digest == nil || !e.whole() {
			a.found(Finding{Table: "events", Run: e.Run, Seq: e.Seq, Contact: e.Contact, Attempt: e.Attempt,
				What: "the event is not as it was written (" + string(e.Type) + ")"})
		}
		return nil
	}, string(a.id), runs, ns)
}

// lateFor is how much earlier than its commit an event of no campaign may be.
const lateFor = time.Hour

// looseSince checks the events of no campaign since the seal, and that batches have them.
func (a *auditor) looseSince(sealed time.Time) error {
	runs, ns := a.starts()
	digests := map[chain.Hash]int{}
	rows, err := a.tx.Query(a.ctx, `SELECT b.digests FROM event_batches b
		JOIN unnest($1::integer[], $2::bigint[]) AS f(run, n) ON f.run = b.run AND b.n > f.n
		WHERE b.campaign_id = ''`, runs, ns)
	err = each(rows, err, pgx.RowTo[[]byte], func(b *[]byte) error {
		for d := range slices.Chunk(*b, chain.HashSize) {
			digests[chain.Hash(d)]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = eachEvent(a.ctx, a.tx, "FROM events e WHERE e.seq <= 0 AND e.at >= $1", func(e *storedEvent) error {
		a.read()
		if e.digest == nil || !e.whole() {
			a.found(looseFinding(e, "the event is not as it was written"))
			return nil
		}
		digests[chain.Hash(e.digest)]--
		return nil
	}, sealed.Add(-lateFor))
	for _, n := range digests {
		if n > 0 {
			a.found(Finding{Table: "events", What: "an event since the seal was removed"})
		}
	}
	return err
}
