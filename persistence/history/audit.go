// Package history provides the history of campaigns to auditors: the audit of the chains, the
// record of a run, checkpoints of dropped data, and erasure.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/seal"
	"dialler/engine/spine"
	"dialler/engine/tally"
	stored "dialler/persistence/spine"
	"dialler/persistence/table"
)

// Records provides the history of campaigns to auditors: its comparison with the tables, its
// retention, and the erasure of persons from it.
type Records struct {
	db       *table.DB
	spine    *stored.Spine
	progress func(string) // of an audit
	apart    int64
}

// Reporting returns Records whose audits say now and then how far they are.
func (s *Records) Reporting(progress func(string)) *Records {
	return &Records{s.db, s.spine, progress, s.apart}
}

// Apart returns Records that audit a campaign of that many batches in two parts next to each other.
func (s *Records) Apart(batches int64) *Records { return &Records{s.db, s.spine, s.progress, batches} }

// NewRecords returns the Records stored in db; what is done to them is told to the spine.
func NewRecords(db *table.DB, spine *stored.Spine) *Records {
	return &Records{db: db, spine: spine, apart: apartFrom}
}

// Audit compares the history of a campaign with its tables.
type Audit struct {
	Campaign engine.CampaignID `json:"campaign_id"` // "" for events of no campaign
	Events   int               `json:"events"`
	// Unchained are the events from before histories were chained.
	Unchained int `json:"unchained"`
	// Unsigned are the runs whose checkpoints were made before checkpoints were signed; nothing
	// proves them genuine.
	Unsigned []int `json:"unsigned,omitempty"`
	Batches  int   `json:"batches"`
	// Unattested are rows without a digest that were there before digests were made, or whose events
	// were dropped.
	Unattested int `json:"unattested,omitempty"`
	// in ascending order; runs that were prepared and discarded are left out
	Runs  []RunAudit `json:"runs"`
	Heads []Head     `json:"heads,omitempty"` // of every run
	// Findings are the rows that have changed since they were written, the first of them.
	Findings []Finding `json:"findings"`
	More     bool      `json:"more,omitempty"` // there are more than listed
}

// RunAudit are the figures of one run in which the fold of the events (A) and
// the tables (B) differ.
type RunAudit struct {
	Run         int                `json:"run"`
	Differences []tally.Difference `json:"differences"`
}

// Head is where the chain of a run ends: noted elsewhere, it proves later that nothing before it
// was changed.
type Head struct {
	Run   int    `json:"run"`
	Batch int64  `json:"batch"`
	Hash  string `json:"hash"` // 64 hex digits
}

// Finding is a row that was tampered with, as far as the audit can tell.
type Finding struct {
	Campaign engine.CampaignID `json:"campaign_id,omitempty"` // where one audit is of all of them
	// Table and Row name a row that its digest, or the spine, says otherwise of.
	Table   string           `json:"table,omitempty"`
	Row     string           `json:"row,omitempty"`
	Kind    string           `json:"kind,omitempty"` // short, for machines
	Run     int              `json:"run"`
	Batch   int64            `json:"batch,omitempty"`
	Seq     int64            `json:"seq,omitempty"` // of an event, or the entry of the spine
	Contact engine.ContactID `json:"contact_id,omitempty"`
	Attempt engine.AttemptID `json:"attempt_id,omitempty"`
	What    string           `json:"what"`
}

// String describes the finding in one line.
func (f Finding) String() string {
	if f.Table == tableSpine {
		return f.Kind + ": " + f.What
	}
	s := fmt.Sprintf("run %d", f.Run)
	switch {
	case f.Table != "" && f.Run != 0:
		s += strings.TrimRight(" "+f.Table+" "+f.Row, " ")
	case f.Row != "":
		s = f.Table + " " + f.Row
	}
	if f.Campaign != "" {
		s = string(f.Campaign) + " " + s
	}
	if f.Batch != 0 {
		s += fmt.Sprintf(" batch %d", f.Batch)
	}
	if f.Seq != 0 {
		s += fmt.Sprintf(" seq %d", f.Seq)
	}
	if f.Contact != "" {
		s += " contact " + string(f.Contact)
	}
	if f.Attempt != "" {
		s += " attempt " + string(f.Attempt)
	}
	return s + ": " + f.What
}

// Of returns what differs in a run, in none in particular, or in one that there never was, where rows of
// this run may have been moved to; a sentence each.
func (a *Audit) Of(run int) (said []string) {
	known := map[int]bool{}
	for _, r := range a.Runs {
		known[r.Run] = true
		for _, d := range r.Differences {
			if r.Run == run {
				said = append(said, fmt.Sprintf("run %d: %s: events %s, tables %s", run, d.Figure, d.A, d.B))
			}
		}
	}
	for _, f := range a.Findings {
		if f.Run == run || !known[f.Run] {
			said = append(said, f.String())
		}
	}
	if a.More {
		said = append(said, "there are more than these")
	}
	return said
}

// Wrong counts the differences, in figures and rows.
func (a *Audit) Wrong() (n int) {
	for i := range a.Runs {
		n += len(a.Runs[i].Differences)
	}
	return n + len(a.Findings)
}

const (
	// auditPage is how many events or batches are read at a time: an audit holds one page and the
	// counters in memory, however long the history.
	auditPage = 5000
	// findingsCap bounds how many rows are listed per campaign.
	findingsCap = 200
)

// auditor audits one campaign, or the events of none, in one snapshot.
type auditor struct {
	*Audit
	ctx     context.Context
	tx      pgx.Tx
	id      engine.CampaignID
	chained int64 // events that have a digest
	inBatch int64 // events that batches name
	written *written
	begun   *begun
	from    map[int]chain.Verifier // where an audit since a seal begins, nil for one of everything

	progress func(string)
	total    int  // events that there are, about; 0 is not known
	apart    bool // it is large, and audited in two parts
}

// toldEvery is how many events an audit reads between two reports.
const toldEvery = 20_000

// read counts an event.
func (a *auditor) read() {
	if a.Events++; a.Events%toldEvery != 0 {
		return
	}
	of := ""
	if a.total > 0 {
		of = fmt.Sprintf(" of %d", a.total)
	}
	a.tell(fmt.Sprintf("%d%s events", a.Events, of))
}

func (a *auditor) tell(what string) {
	if a.progress != nil {
		a.progress(what)
	}
}

func (a *auditor) found(f Finding) {
	if len(a.Findings) == findingsCap {
		a.More = true
		return
	}
	a.Findings = append(a.Findings, f)
}

// auditIn audits a campaign in a snapshot.
func (s *Records) auditIn(ctx context.Context, tx pgx.Tx, id engine.CampaignID, trusted []seal.Public) (out Audit,
	err error) {
	out.Campaign = id
	a := &auditor{Audit: &out, ctx: ctx, tx: tx, id: id, progress: s.progress}
	if a.written, err = s.newWritten(a); err != nil {
		return out, err
	}
	defer a.written.close()
	present, known := 0, false
	err = tx.QueryRow(ctx, `SELECT coalesce((SELECT run FROM campaigns WHERE id = $1), 0),
		EXISTS (SELECT FROM campaigns WHERE id = $1) OR EXISTS (SELECT FROM event_heads WHERE campaign_id = $1)`,
		string(id)).Scan(&present, &known)
	if err == nil && !known {
		err = table.ErrCampaignNotFound
	}
	if err != nil {
		return out, err
	}
	if a.begun, err = readBegun(ctx, tx); err != nil {
		return out, err
	}
	fold := tally.Runs{}
	err = run(
		func() error { return fromCheckpoints(ctx, tx, id, fold) },
		func() error {
			return s.beside(a, func() error { return run(func() error { return a.events(fold) }, a.attempts) },
				func(b *auditor) error { return run(b.chainsAndRows, b.contacts) })
		},
		func() error { return a.checkpoints(trusted) }, a.strays)
	if err != nil {
		return out, err
	}
	for run := range fold {
		if run > present {
			continue
		}
		tables, err := countRun(ctx, tx, id, run)
		if err != nil {
			return out, err
		}
		out.Runs = append(out.Runs, RunAudit{run, tally.Compare(fold.Counters(run), tables)})
	}
	slices.SortFunc(out.Runs, func(x, y RunAudit) int { return x.Run - y.Run })
	slices.SortStableFunc(out.Findings, func(x, y Finding) int {
		return cmp.Or(x.Run-y.Run, cmp.Compare(x.Batch, y.Batch), cmp.Compare(x.Seq, y.Seq))
	})
	return out, nil
}

// run runs parts of an audit one after another.
func run(parts ...func() error) error {
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// apartFrom is how many batches make it worth while to audit a campaign in two parts next to each other.
const apartFrom = 1000

// beside audits one part next to another, which has a connection of its own to the same snapshot; one
// after the other where there is little to audit, or no second connection available.
func (s *Records) beside(a *auditor, first func() error, second func(*auditor) error) error {
	var batches int64
	err := a.tx.QueryRow(a.ctx, "SELECT coalesce(sum(n), 0)::bigint FROM event_heads WHERE campaign_id = $1",
		string(a.id)).Scan(&batches)
	if err != nil {
		return err
	}
	for _, v := range a.from {
		batches -= v.N
	}
	var tx pgx.Tx
	if batches >= s.apart {
		var done func()
		if tx, done, err = s.db.Beside(a.ctx, a.tx); err == nil {
			defer done()
		}
	}
	switch {
	case tx == nil:
		return run(first, func() error { return second(a) })
	case a.from != nil:
		if _, err := tx.Exec(a.ctx, lookUp); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	a.apart = true
	b := *a
	b.Audit, b.ctx, b.tx, b.progress = &Audit{Campaign: a.id}, ctx, tx, nil
	b.written.a = &b
	ended := make(chan error, 1)
	go func() { ended <- second(&b) }()
	if err := first(); err != nil {
		cancel()
		<-ended
		return err
	}
	a.tell("rows and their digests")
	if err := <-ended; err != nil {
		return err
	}
	a.inBatch, a.Batches, a.Heads, a.Unattested = b.inBatch, b.Batches, b.Heads, b.Unattested
	for _, f := range b.Findings {
		a.found(f)
	}
	a.More = a.More || b.More
	return nil
}

// chainsAndRows verifies the chains, and compares the rows with the digests in them.
func (a *auditor) chainsAndRows() error { return run(a.chains, a.written.compare) }

// Campaigns lists the campaigns that there are and those that only have a history, newest first.
func (s *Records) Campaigns(ctx context.Context) ([]engine.CampaignID, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT id FROM (SELECT id FROM campaigns UNION SELECT campaign_id FROM event_heads
		WHERE campaign_id <> '') x LEFT JOIN campaigns c USING (id) ORDER BY c.created_at DESC NULLS LAST, id`)
	list, err := pgx.CollectRows(rows, pgx.RowTo[engine.CampaignID])
	return list, s.db.Wrap("campaigns not listed", err)
}

// Audit folds the events of a campaign in their order, compares the result with the tables, and
// verifies the chain of their digests. It does so in one snapshot of the database: the campaign may
// run meanwhile. Checkpoints of runs whose calls or events are gone must be signed with a trusted
// key. It returns ErrCampaignNotFound when there is none and was none.
func (s *Records) Audit(ctx context.Context, id engine.CampaignID, trusted ...seal.Public) (out Audit, err error) {
	err = pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) (err error) {
			out, err = s.auditIn(ctx, tx, id, trusted)
			return err
		})
	var e *engine.Error
	if err == nil || errors.As(err, &e) {
		return out, err
	}
	return out, s.db.Wrap("campaign not audited", err)
}

// events folds all events and checks each against its digest.
func (a *auditor) events(fold tally.Runs) error {
	var begun *int64 // the first number in a batch
	err := a.tx.QueryRow(a.ctx, "SELECT min(seqs[1]), coalesce((SELECT max(seq) FROM events WHERE campaign_id = $1 "+
		"AND seq > 0), 0) FROM event_batches WHERE campaign_id = $1", string(a.id)).Scan(&begun, &a.total)
	if err != nil {
		return err
	}
	from := eventPlace{}
	var data decoder
	for n := auditPage; n == auditPage; {
		var changed []Finding
		n = 0
		err := eachEvent(a.ctx, a.tx, "FROM events e WHERE e.campaign_id = $1 AND e.seq > 0 AND (e.seq, e.at) > ($2, $3) "+
			"ORDER BY e.seq, e.at LIMIT $4", func(e *storedEvent) error {
			if err := data.decode(e); err != nil {
				return err
			}
			n++
			a.read()
			fold.Apply(&e.Event)
			from = e.place()
			switch {
			case e.digest == nil && a.unchained(e, begun == nil || e.Seq < *begun):
				a.Unchained++
			case e.digest == nil:
				a.found(Finding{Table: "events", Run: e.Run, Seq: e.Seq,
					What: "an event that is in no batch: it was added, or its digest was removed"})
			default:
				a.chained++
				if !e.whole() && len(changed) < findingsCap {
					changed = append(changed, Finding{Table: "events", Run: e.Run, Seq: e.Seq, Contact: e.Contact,
						Attempt: e.Attempt,
						What:    "the event is not as it was written (" + string(e.Type) + ")"})
				}
			}
			return nil
		}, string(a.id), from.seq, from.at, auditPage)
		if err != nil {
			return err
		}
		for _, f := range changed {
			f.Batch = a.batchOf(f.Seq)
			a.found(f)
		}
	}
	return nil
}

// unchained says whether an event may have no digest: it was there before the spine was begun, or is
// what is kept of a run whose events were dropped. Without a spine, older says it.
func (a *auditor) unchained(e *storedEvent, older bool) bool {
	if a.begun == nil {
		return older
	}
	return e.At.Before(a.begun.at) && a.Unchained < a.begun.before.Unchained[a.id] ||
		a.begun.dropped[spine.Chain{Campaign: a.id, Run: e.Run}]
}

// batchOf is the batch of an event, 0 when there is none.
func (a *auditor) batchOf(seq int64) (n int64) {
	if len(a.Findings) < findingsCap {
		_ = a.tx.QueryRow(a.ctx, "SELECT coalesce(min(n), 0) FROM event_batches WHERE campaign_id = $1 "+
			"AND $2 = ANY(seqs)", string(a.id), seq).Scan(&n)
	}
	return n
}

// chains verifies the chain of every run.
func (a *auditor) chains() error {
	heads, err := a.heads()
	if err != nil {
		return err
	}
	chains := map[int]*chain.Verifier{}
	err = a.batches(func(b *batchRow) error {
		if chains[b.run] == nil {
			v := a.from[b.run]
			chains[b.run] = &v
		}
		a.Batches++
		a.inBatch += int64(len(b.seqs))
		if err := a.written.batch(b); err != nil {
			return err
		}
		wrong := chains[b.run].Batch(b.n, b.digests, b.rows, b.hash)
		if a.missing(b) || wrong == "" {
			return nil
		}
		f := Finding{Table: "event_batches", Run: b.run, Batch: b.n, What: wrong}
		if len(b.seqs) > 0 {
			f.Seq = b.seqs[0]
			f.What += fmt.Sprintf(" (events %d to %d)", b.seqs[0], b.seqs[len(b.seqs)-1])
		}
		a.found(f)
		return nil
	})
	if err != nil {
		return err
	}
	for run, h := range heads {
		if chains[run] == nil {
			v, moved := a.from[run]
			if a.from != nil && !moved {
				continue
			}
			chains[run] = &v
		}
		if wrong := chains[run].Head(h.N, h.Hash); wrong != "" {
			a.found(Finding{Table: "event_heads", Run: run, Batch: h.N, What: wrong})
		}
	}
	for run, v := range chains {
		if _, ok := heads[run]; !ok {
			a.found(Finding{Table: "event_heads", Run: run, Batch: v.N, What: "the chain has no head"})
		}
		a.Heads = append(a.Heads, Head{run, v.N, v.Hash.String()})
	}
	slices.SortFunc(a.Heads, func(x, y Head) int { return x.Run - y.Run })
	return nil
}

// missing compares the events that a batch names with those that exist.
func (a *auditor) missing(b *batchRow) (found bool) {
	if slices.Equal(b.seqs, b.present) {
		return false
	}
	there := map[int64]int{}
	for _, seq := range b.present {
		there[seq]++
	}
	for _, seq := range b.seqs {
		if there[seq]--; there[seq] < 0 {
			found = true
			a.found(Finding{Table: "events", Run: b.run, Batch: b.n, Seq: seq, What: "the event or its digest was removed"})
		}
	}
	for seq, more := range there {
		if more > 0 {
			found = true
			a.found(Finding{Table: "events", Run: b.run, Batch: b.n, Seq: seq,
				What: "the event is there more than once: one was added"})
		}
	}
	return found
}

// strays finds events that have a digest but are in no batch. The counts tell whether a search is
// needed.
func (a *auditor) strays() error {
	if a.chained == a.inBatch && len(a.Findings) == 0 {
		return nil
	}
	rows, _ := a.tx.Query(a.ctx, `SELECT run, seq FROM events WHERE campaign_id = $1 AND seq > 0 AND digest IS NOT NULL
		EXCEPT ALL SELECT b.run, unnest(b.seqs) FROM event_batches b WHERE b.campaign_id = $1 ORDER BY 1, 2 LIMIT $2`,
		string(a.id), findingsCap)
	f := Finding{Table: "events", What: "an event that is in no batch of its run: it was added"}
	_, err := pgx.ForEachRow(rows, []any{&f.Run, &f.Seq}, func() error {
		a.found(f)
		return nil
	})
	return err
}
