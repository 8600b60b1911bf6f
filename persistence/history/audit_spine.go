package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/seal"
	entries "dialler/engine/spine"
	"dialler/persistence/spine"
)

// SpineAudit is the audit of the installation's own chain, and of every chain of events against what
// was sealed of it.
type SpineAudit struct {
	Entries int64  `json:"entries"`
	Hash    string `json:"hash,omitempty"` // of the last entry
	Seals   int64  `json:"seals"`
	// Begun is the time of the genesis; nothing vouches for what is older. Before is what was there.
	Begun  *time.Time      `json:"begun,omitempty"`
	Before *entries.Counts `json:"before,omitempty"`
	// SealedAt is the time of the last seal. Unsealed are the chains that are in none yet.
	SealedAt *time.Time      `json:"sealed_at,omitempty"`
	Unsealed []entries.Chain `json:"unsealed,omitempty"`
	Key      string          `json:"key,omitempty"` // fingerprint of the key in force
	Notes    []string        `json:"notes,omitempty"`
	Findings []Finding       `json:"findings"`
	More     bool            `json:"more,omitempty"`
	// Keys have signed for the installation, as the spine proves; none if it does not.
	Keys []seal.Public `json:"-"`
}

// SpineCopy is a copy of the spine outside the database; f is called with each of its lines, nil for
// one that is no entry.
type SpineCopy struct {
	Name string
	Each func(f func(line int, e *entries.Entry) error) error
}

// The kinds of findings about chains and the spine, beside those of engine/spine.
const (
	chainRemoved    = "chain_removed"
	chainShortened  = "chain_shortened"
	chainRewritten  = "chain_rewritten"
	batchRemoved    = "batch_removed"
	headRemoved     = "head_removed"
	campaignRemoved = "campaign_removed"
	olderBackup     = "older_backup"
	sealsChanged    = "seals_file_changed"
)

const tableSpine = "spine"

type spineAuditor struct {
	*SpineAudit
	ctx      context.Context
	tx       pgx.Tx
	follower entries.Follower
	hashes   map[int64]chain.Hash
	sealed   entries.Heads
	dropped  map[entries.Chain]int64 // by which entry, the last
	lost     []lostRange
	accepted int64 // the last entry by which somebody accepted a restore
	named    map[string]bool
	progress func(string)
}

// lostRange are entries that the database had lost, as entry n says.
type lostRange struct{ n, after, to int64 }

// AuditSpine follows the spine from its genesis, compares it with copies outside the database, and
// every chain of events with what was sealed of it, in one snapshot. The key in force must be one of
// the trusted.
func (s *Records) AuditSpine(ctx context.Context, copies []SpineCopy, progress func(string),
	trusted ...seal.Public) (out SpineAudit, err error) {
	err = pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			a := &spineAuditor{SpineAudit: &out, ctx: ctx, tx: tx, hashes: map[int64]chain.Hash{}, sealed: entries.Heads{},
				dropped: map[entries.Chain]int64{}, named: map[string]bool{}, progress: progress}
			for _, step := range []func() error{a.exceptions, a.follow, func() error { return a.signer(trusted) },
				func() error { return a.compare(copies) }, a.restores, a.unsealed, a.orphans} {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		})
	return out, s.db.Wrap("the spine not audited", err)
}

// found names what was found once.
func (a *spineAuditor) found(f Finding) {
	key := fmt.Sprint(f.Kind, f.Campaign, f.Run, f.Seq, f.What)
	if f.Kind == chainRemoved || f.Kind == chainShortened || f.Kind == chainRewritten || f.Kind == batchRemoved ||
		f.Kind == headRemoved {
		key = fmt.Sprint(f.Kind, f.Campaign, f.Run)
	}
	if a.named[key] {
		return
	}
	if len(a.Findings) == findingsCap {
		a.More = true
		return
	}
	a.named[key] = true
	a.Findings = append(a.Findings, f)
}

func (a *spineAuditor) wrong(n int64, kind, what string) {
	a.found(Finding{Table: tableSpine, Kind: kind, Seq: n, What: what})
}

// exceptions reads which chains were dropped, and what was lost and accepted.
func (a *spineAuditor) exceptions() error {
	for after := int64(0); ; {
		list, err := spine.Kinds(a.ctx, a.tx, after, auditPage, entries.KindRetention, entries.KindRestored)
		if err != nil {
			return err
		}
		for i := range list {
			e := &list[i]
			after = e.N
			_, dropped := e.Heads()
			for _, h := range dropped {
				a.dropped[h.Chain] = e.N
			}
			var r entries.Restored
			if e.Kind != entries.KindRestored || json.Unmarshal(e.Data, &r) != nil {
				continue
			}
			if r.By != "" {
				a.accepted = e.N
				a.Notes = append(a.Notes, fmt.Sprintf("%s accepted a restored database (entry %d of %s)", r.By, e.N,
					e.At.Format(time.RFC3339)))
				continue
			}
			a.lost = append(a.lost, lostRange{e.N, r.After, r.To})
		}
		if len(list) < auditPage {
			return nil
		}
	}
}

// excused says whether what an entry sealed of a chain need not be there any more.
func (a *spineAuditor) excused(n int64, of entries.Chain) bool {
	return a.dropped[of] > n || a.acceptedLoss(n)
}

// acceptedLoss says whether an entry was lost, and somebody accepted that.
func (a *spineAuditor) acceptedLoss(n int64) bool {
	for _, l := range a.lost {
		if n > l.after && n <= l.to && a.accepted > l.n {
			return true
		}
	}
	return false
}

const spinePage = 500

// follow follows the entries in the database, and checks what each sealed.
func (a *spineAuditor) follow() error {
	for {
		list, err := spine.Page(a.ctx, a.tx, a.follower.N, spinePage)
		if err != nil {
			return err
		}
		for i := range list {
			e := &list[i]
			if w := a.follower.Next(e); w.Kind != "" {
				a.wrong(e.N, w.Kind, w.What)
			}
			a.hashes[e.N] = a.follower.Hash
			a.sealed.Seen(e)
			if e.Kind == entries.KindSeal {
				a.Seals++
				at := e.At
				a.SealedAt = &at
			}
		}
		if err := a.heads(list); err != nil {
			return err
		}
		a.Entries += int64(len(list))
		if a.progress != nil {
			a.progress(fmt.Sprintf("%d entries of the spine", a.Entries))
		}
		if len(list) < spinePage {
			break
		}
	}
	if g := a.follower.Genesis; g != nil {
		a.Begun, a.Before = &a.follower.At.At, &g.Before.Counts
	}
	if a.Entries > 0 {
		a.Hash = a.follower.Hash.String()
	}
	return nil
}

// heads compares the chains with what entries sealed of them.
func (a *spineAuditor) heads(list []entries.Entry) error {
	var campaigns, hashes []string
	var runs []int
	var ns, by []int64
	for i := range list {
		sealed, _ := list[i].Heads()
		for _, h := range sealed {
			if a.excused(list[i].N, h.Chain) {
				continue
			}
			campaigns, runs, ns = append(campaigns, string(h.Campaign)), append(runs, h.Run), append(ns, h.N)
			hashes, by = append(hashes, h.Hash), append(by, list[i].N)
		}
	}
	if len(ns) == 0 {
		return nil
	}
	rows, _ := a.tx.Query(a.ctx, `SELECT u.campaign, u.run, u.n, u.entry, b.hash IS NOT NULL, coalesce(h.n, 0),
			coalesce((SELECT max(m.n) FROM event_batches m WHERE m.campaign_id = u.campaign AND m.run = u.run), 0)
		FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::text[], $5::bigint[]) AS u(campaign, run, n, hash, entry)
		LEFT JOIN event_batches b ON b.campaign_id = u.campaign AND b.run = u.run AND b.n = u.n
		LEFT JOIN event_heads h ON h.campaign_id = u.campaign AND h.run = u.run
		WHERE encode(b.hash, 'hex') IS DISTINCT FROM u.hash OR h.n IS NULL OR h.n < u.n
		ORDER BY u.entry, u.campaign, u.run`, campaigns, runs, ns, hashes, by)
	var f Finding
	var n, entry, head, batches int64
	var there bool
	_, err := pgx.ForEachRow(rows, []any{&f.Campaign, &f.Run, &n, &entry, &there, &head, &batches}, func() error {
		f.Table, f.Batch, f.Seq = "event_batches", n, 0
		sealed := fmt.Sprintf("entry %d of the spine sealed its batch %d", entry, n)
		switch {
		case batches == 0:
			f.Kind, f.What = chainRemoved, "the whole chain was removed: "+sealed
		case batches < n:
			f.Kind, f.What = chainShortened, fmt.Sprintf("the chain was cut off after batch %d: %s", batches, sealed)
		case !there:
			f.Kind, f.What = batchRemoved, "the batch was removed: "+sealed
		case head < n:
			f.Table, f.Kind, f.What = "event_heads", headRemoved, "the head of the chain was removed or put back: "+sealed
		default:
			f.Kind, f.What = chainRewritten, "the chain was written anew: "+sealed+" with another hash"
		}
		a.found(f)
		return nil
	})
	return err
}

// signer checks whose the spine is.
func (a *spineAuditor) signer(trusted []seal.Public) error {
	key, ok := a.follower.InForce()
	if !ok {
		return nil
	}
	a.Key = key.Fingerprint()
	for _, t := range trusted {
		if t.Fingerprint() == a.Key {
			a.Keys = a.follower.Keys()
			return nil
		}
	}
	if len(trusted) > 0 {
		a.wrong(1, entries.UnknownSigner, "the spine is signed with the key "+a.Key+", which is not trusted: name its "+
			"public half with --key if it is the installation's")
		return nil
	}
	a.Notes = append(a.Notes, "nobody says whose the key "+a.Key+" is: name the installation's with --signing-key "+
		"or --key")
	return nil
}

// genuine says whether an entry of a copy is the installation's.
func (a *spineAuditor) genuine(e *entries.Entry) bool {
	for _, k := range a.follower.Keys() {
		if e.SignedWith(k) {
			return true
		}
	}
	if _, key, err := e.Genesis(); len(a.follower.Keys()) == 0 && err == nil {
		return e.SignedWith(key)
	}
	return false
}

// compare holds copies outside the database against it.
func (a *spineAuditor) compare(copies []SpineCopy) error {
	for _, c := range copies {
		var last, firstLost, lastLost int64
		var lost []entries.Entry
		flush := func() error { err := a.heads(lost); lost = lost[:0]; return err }
		err := c.Each(func(line int, e *entries.Entry) error {
			if e == nil {
				a.wrong(0, sealsChanged, fmt.Sprintf("line %d of %s is no entry: it was changed", line, c.Name))
				return nil
			}
			if e.N > last+1 {
				a.wrong(last+1, sealsChanged, fmt.Sprintf("%s lacks the entries %d to %d: lines were removed", c.Name, last+1,
					e.N-1))
			}
			last = max(last, e.N)
			h, there := a.hashes[e.N]
			switch {
			case there && (h == e.Hash() || a.acceptedLoss(e.N)):
				return nil
			case a.follower.Genesis != nil && !a.genuine(e):
				a.wrong(e.N, sealsChanged, fmt.Sprintf("line %d of %s is not signed by the installation", line, c.Name))
				return nil
			case there:
				a.wrong(e.N, entries.EntryChanged, e.String()+" is another one in the database than in "+c.Name)
			case a.follower.Genesis == nil && e.N == 1:
				a.wrong(1, entries.GenesisMissing, "the genesis of the spine is in "+c.Name+" and not in the database: the spine "+
					"was removed")
			case e.N < a.follower.N:
				a.wrong(e.N, entries.EntryRemoved, e.String()+" is in "+c.Name+" and not in the database: it was removed")
			default:
				if firstLost == 0 {
					firstLost = e.N
				}
				lastLost = e.N
			}
			lost = append(lost, *e)
			if len(lost) == spinePage {
				return flush()
			}
			return nil
		})
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
		if firstLost > 0 {
			a.wrong(firstLost, olderBackup, fmt.Sprintf("the database ends with entry %d of the spine, %s with %d: the end was "+
				"cut off, or an older backup put in place", firstLost-1, c.Name, lastLost))
		}
	}
	return nil
}

// restores names what was lost and accepted by nobody.
func (a *spineAuditor) restores() error {
	for _, l := range a.lost {
		if a.accepted > l.n {
			continue
		}
		a.wrong(l.n, olderBackup, fmt.Sprintf("the database had lost the entries %d to %d of the spine: an older backup was "+
			"put in place, or the end cut off (dialler db accept-restore, if it was on purpose)", l.after+1, l.to))
	}
	return nil
}

// unsealed lists the chains that no seal has yet.
func (a *spineAuditor) unsealed() error {
	if a.follower.Genesis == nil {
		return nil
	}
	rows, _ := a.tx.Query(a.ctx, "SELECT campaign_id, run FROM event_heads ORDER BY campaign_id, run")
	var c entries.Chain
	_, err := pgx.ForEachRow(rows, []any{&c.Campaign, &c.Run}, func() error {
		if _, ok := a.sealed[c]; !ok {
			a.Unsealed = append(a.Unsealed, c)
		}
		return nil
	})
	return err
}

// orphans names the campaigns of which only the chain is left. A draft may be deleted, and that is an
// event.
func (a *spineAuditor) orphans() error {
	rows, _ := a.tx.Query(a.ctx, `SELECT DISTINCT b.campaign_id FROM event_heads b WHERE b.campaign_id <> ''
		AND NOT EXISTS (SELECT FROM campaigns c WHERE c.id = b.campaign_id)
		AND NOT EXISTS (SELECT FROM events e WHERE e.seq <= 0 AND e.type = 'campaign.deleted'
			AND e.data->>'reason' = b.campaign_id) ORDER BY 1 LIMIT $1`, findingsCap)
	f := Finding{Table: "campaigns", Kind: campaignRemoved, What: "the campaign was removed; its chain is still there"}
	_, err := pgx.ForEachRow(rows, []any{&f.Campaign}, func() error { a.found(f); return nil })
	return err
}

// begun is what the genesis says of the time before it, for the audit of one campaign.
type begun struct {
	at      time.Time
	before  entries.Before
	dropped map[entries.Chain]bool
}

// readBegun reads the genesis; nil without one.
func readBegun(ctx context.Context, tx pgx.Tx) (*begun, error) {
	ring, err := spine.Keyring(ctx, tx)
	var broken *engine.Error
	if errors.As(err, &broken) || err == nil && len(ring.Keys) == 0 {
		return nil, nil // AuditSpine says what is wrong with it
	}
	if err != nil {
		return nil, err
	}
	b := &begun{before: ring.Genesis.Before, dropped: map[entries.Chain]bool{}}
	if err := tx.QueryRow(ctx, "SELECT at FROM spine WHERE n = 1").Scan(&b.at); err != nil {
		return nil, err
	}
	for after := int64(0); ; {
		list, err := spine.Kinds(ctx, tx, after, auditPage, entries.KindRetention)
		if err != nil {
			return nil, err
		}
		for i := range list {
			after = list[i].N
			_, dropped := list[i].Heads()
			for _, h := range dropped {
				b.dropped[h.Chain] = true
			}
		}
		if len(list) < auditPage {
			return b, nil
		}
	}
}

// unsigned says whether a checkpoint may have no signature.
func (b *begun) unsigned(c entries.Chain) bool {
	for _, u := range b.before.Unsigned {
		if u == c {
			return true
		}
	}
	return false
}
