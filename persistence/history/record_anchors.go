package history

import (
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/anchor"
	entries "dialler/engine/spine"
	"dialler/persistence/spine"
)

// trailCap bounds how many entries of the spine lead from a run's seal to what a witness was shown. The
// first seal of each process has all chains, so that only one that has run for long leaves longer ones.
const trailCap = 5000

// shown is a receipt, by its entry in the spine, and the last seal of the run before what it is of.
type shown struct{ entry, n, seal int64 }

// anchors passes the receipts that cover the run, and the entries of the spine that lead to them. Of each
// witness there is the first receipt after each seal of the run.
func (e *evidenceReader) anchors() error {
	seals, err := e.seals()
	if err != nil || len(seals) == 0 {
		return err
	}
	list, err := e.shown(seals)
	if err != nil {
		return err
	}
	for i, last := 0, int64(0); i < len(list); {
		n := list[i].n
		if last, err = e.trail(max(last, list[i].seal-1), n); err != nil {
			return err
		}
		for ; i < len(list) && list[i].n == n; i++ {
			if err := e.receipt(list[i].entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// sealed is an entry of the spine that has a head of the run.
type sealed struct {
	n    int64
	same bool // as the chain has it
}

// seals are the entries that have heads of the run. One that has another hash is a finding, unless
// somebody accepted that the database had lost it (AuditSpine).
func (e *evidenceReader) seals() (list []sealed, err error) {
	id := engine.CampaignID(e.id)
	of, err := json.Marshal(map[string]any{"heads": []any{entries.Chain{Campaign: id, Run: e.run}}})
	if err != nil {
		return nil, err
	}
	rows, _ := e.tx.Query(e.ctx, `SELECT s.n, encode(b.hash, 'hex') IS NOT DISTINCT FROM h.head->>'hash',
			EXISTS (SELECT FROM spine l JOIN spine a ON a.kind = l.kind AND a.n > l.n AND a.data->>'by' <> ''
				WHERE l.kind = $5 AND l.data->>'by' = '' AND s.n > (l.data->>'after')::bigint
				AND s.n <= (l.data->>'to')::bigint)
		FROM spine s CROSS JOIN jsonb_array_elements(s.data->'heads') AS h(head)
		LEFT JOIN event_batches b ON b.campaign_id = $1 AND b.run = $2 AND b.n = (h.head->>'n')::bigint
		WHERE s.kind = $3 AND s.data @> $4::jsonb AND h.head->>'campaign' = $1 AND (h.head->>'run')::integer = $2
		ORDER BY s.n`, e.id, e.run, entries.KindSeal, string(of), entries.KindRestored)
	var s sealed
	var lost bool
	_, err = pgx.ForEachRow(rows, []any{&s.n, &s.same, &lost}, func() error {
		if list = append(list, s); !s.same && !lost {
			e.w.Finding(fmt.Sprintf("run %d: the chain is not as entry %d of the spine sealed it", e.run, s.n))
		}
		return nil
	})
	return list, err
}

// shown are the receipts that are passed, in the order of what they are of.
func (e *evidenceReader) shown(seals []sealed) (list []shown, err error) {
	type seen struct {
		witness string
		seal    int64
	}
	known := map[seen]bool{}
	rows, _ := e.tx.Query(e.ctx, `SELECT n, (data->>'n')::bigint, data->>'kind' || ' ' || (data->>'url') FROM spine
		WHERE kind = $1 AND (data->>'n')::bigint >= $2 ORDER BY 2, n`, entries.KindAnchor, seals[0].n)
	var x shown
	var witness string
	_, err = pgx.ForEachRow(rows, []any{&x.entry, &x.n, &witness}, func() error {
		i := sort.Search(len(seals), func(i int) bool { return seals[i].n > x.n }) - 1
		x.seal = seals[i].n
		if seals[i].same && !known[seen{witness, x.seal}] && x.n-x.seal < trailCap {
			known[seen{witness, x.seal}] = true
			list = append(list, x)
		}
		return nil
	})
	return list, err
}

// trail passes the entries after one number, up to another.
func (e *evidenceReader) trail(after, to int64) (last int64, err error) {
	for last = after; last < to; {
		list, err := spine.Page(e.ctx, e.tx, last, int(min(to-last, spinePage)))
		if err != nil || len(list) == 0 {
			return last, err
		}
		for i := range list {
			if list[i].N > to {
				return to, nil // what was shown is gone: the receipt says so
			}
			last = list[i].N
			text, err := list[i].Text()
			if err == nil {
				err = e.w.SpineEntry(text)
			}
			if err != nil {
				return last, err
			}
		}
	}
	return last, nil
}

// receipt passes the receipt of an entry; one that is not of what is there now is a finding.
func (e *evidenceReader) receipt(n int64) error {
	list, err := spine.Page(e.ctx, e.tx, n-1, 1)
	if err != nil {
		return err
	}
	var r anchor.Receipt
	if err = json.Unmarshal(list[0].Data, &r); err == nil {
		err = e.w.Receipt(&r)
	}
	if err != nil {
		e.w.Finding(fmt.Sprintf("run %d: what the witness %s was shown at %s as seal %d is not what is there: %v", e.run,
			r.URL, r.At.UTC().Format(time.RFC3339), r.N, err))
	}
	return nil
}
