package table

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine/attempt"
	"dialler/engine/chain"
	"dialler/persistence/column"
)

// Rows answer for themselves: each transaction that writes rows leaves their digests in its batch,
// under the installation's key. An audit makes them anew from the rows that it finds.

// Part is a table's rows as evidence, or some of their columns.
type Part struct {
	Byte  byte   // in entries; never used again for another part
	Name  string // in findings
	Table string
	// ID is the SQL of the row's identifier, a uuid; Text of one that is hashed under the key, since
	// it may be a phone number.
	ID, Text string
	// Key is the column that ID is made of by adding to its last four bytes, "" if ID is the column.
	Key string
	// Order is the SQL of the row's place among its own versions, "" for the time by the server.
	Order string
	// Must is the SQL of whether a row must have an entry, "" for always.
	Must string
	// InCall is the SQL of whether the row is of a call that goes on, "" for never. Such a row is not
	// compared: what it says by its end has an entry, and that it claims a call shows in the events.
	InCall string
	// Only are the columns, nil for all those that no other part has and that Not does not name.
	Only []string
	Not  map[string]string // column: why it is not evidence
	// Of is the SQL of which rows are a campaign's, $1, or of none, when that is empty.
	Of string
	// Label is the SQL of how a finding names the row.
	Label   string
	columns []string
	oids    []uint32
	selects string
}

// writtenAlone is why a column that nothing is decided by is not evidence.
const writtenAlone = "it is kept up to date without an event"

const ofCampaign = "t.campaign_id = $1"

const (
	// clock orders rows that have no order of their own, and what is written of a call apart from its
	// course: by the server's time.
	clock  = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
	atRest = 1 << 62 // before all of that is what the course of a call writes
	ended  = 1 << 59 // an attempt that has ended is never again as it was while it was live
)

// Parts are all rows that are evidence.
var (
	PartAttempt = &Part{Byte: 1, Name: "attempts", Table: "attempts", ID: "t.id", Of: ofCampaign, InCall: "t.live",
		Not: map[string]string{
			"progress": "it is the order of the row's versions",
		}}
	PartResult = &Part{Byte: 2, Name: "attempts.result", Table: "attempts", ID: "t.id", Of: ofCampaign,
		Only: []string{"outcome", "result"}, InCall: "t.live"}
	PartQuality = &Part{Byte: 3, Name: "attempts.quality", Table: "attempts", ID: "t.id", Of: ofCampaign,
		Only: []string{"quality"}, InCall: "t.live", Must: "t.quality IS NOT NULL"}
	PartLeg = &Part{Byte: 4, Name: "legs", Table: "legs",
		ID: "(left(t.attempt_id::text, 28) || lpad(to_hex(((('x' || right(t.attempt_id::text, 8))::bit(32)::bigint " +
			"+ t.n) % 4294967296)), 8, '0'))::uuid",
		Key:   "t.attempt_id",
		Label: "replace(t.attempt_id::text, '-', '') || ' leg ' || t.n",
		Of:    "t.attempt_id IN (SELECT a.id FROM attempts a WHERE a.campaign_id = $1)"}
	PartContact = &Part{Byte: 5, Name: "contacts", Table: "contacts", ID: contactID, Key: "t.id", Of: ofCampaign,
		Order: "t.version", InCall: "t.attempt_id IS NOT NULL AND EXISTS (SELECT FROM attempts a " +
			"WHERE a.id = t.attempt_id AND a.contact_id = t.id AND a.live)"}
	// PartKept are contacts as earlier runs left them: the same rows in another table.
	PartKept = &Part{Byte: 5, Name: "contact_runs", Table: "contact_runs", ID: contactID, Key: "t.id", Of: ofCampaign,
		Order: "t.version"}
	PartVariables = &Part{Byte: 6, Name: "contact_variables", Table: "contact_variables", ID: "t.contact_id",
		Order: "(SELECT c.version FROM contacts c WHERE c.id = t.contact_id)",
		Of:    "t.contact_id IN (SELECT c.id FROM contacts c WHERE c.campaign_id = $1)"}
	PartCampaign = &Part{Byte: 7, Name: "campaigns", Table: "campaigns", Text: "t.id", Of: "t.id = $1",
		Order: "t.seq", Not: map[string]string{
			"epoch": "it counts take-overs and protects nothing that was",
			"seq":   "it is the order of the row's versions",
		}}
	PartExclusion = &Part{Byte: 8, Name: "exclusions", Table: "exclusions", Of: ofCampaign,
		Text: "t.campaign_id || ' ' || t.number || ' ' || t.match::text"}
	PartSuppression = &Part{Byte: 9, Name: "suppressions", Table: "suppressions", Text: "t.number",
		Label: "'…' || right(t.number, 3)"}
	PartBot    = &Part{Byte: 10, Name: "bots", Table: "bots", Text: "t.id"}
	PartTrunk  = &Part{Byte: 11, Name: "trunks", Table: "trunks", Text: "t.id"}
	PartNumber = &Part{Byte: 12, Name: "numbers", Table: "numbers", Text: "t.number",
		Label: "'…' || right(t.number, 3)"}
	PartUser = &Part{Byte: 13, Name: "users", Table: "users", Text: "t.id", Not: map[string]string{
		"last_login_at": writtenAlone, "failed_logins": writtenAlone, "locked_until": writtenAlone,
	}}
	PartKey = &Part{Byte: 14, Name: "api_keys", Table: "api_keys", Text: "t.id", Not: map[string]string{
		"last_used_at": writtenAlone,
	}}
	PartVoicemail = &Part{Byte: 15, Name: "voicemails", Table: "voicemails", Text: "t.id"}
	PartReview    = &Part{Byte: 16, Name: "amd_reviews", Table: "amd_reviews", ID: "t.attempt_id",
		Must: "t.label <> ''"}
	PartWebhook = &Part{Byte: 17, Name: "webhooks", Table: "webhooks", Text: "t.id", Not: map[string]string{
		"last_delivered_at": writtenAlone, "old_secret": writtenAlone, "old_secret_until": writtenAlone,
	}}
	PartImport = &Part{Byte: 18, Name: "imports", Table: "imports", ID: "t.id", Of: ofCampaign,
		Must: "t.state = 'active'"}
	PartCadence  = &Part{Byte: 19, Name: "cadences", Table: "cadences", Text: "t.id"}
	PartCalendar = &Part{Byte: 20, Name: "calendars", Table: "calendars", Text: "t.id", Not: map[string]string{
		"tried_at": writtenAlone, "problem": writtenAlone,
	}}
)

// contactID is a contact in one of its runs.
const contactID = "(left(t.id::text, 28) || lpad(to_hex(((('x' || right(t.id::text, 8))::bit(32)::bigint " +
	"+ t.run) % 4294967296)), 8, '0'))::uuid"

// Parts are in the order in which an audit reads them.
var Parts = []*Part{PartCampaign, PartContact, PartKept, PartVariables, PartAttempt, PartResult, PartQuality, PartLeg,
	PartExclusion, PartImport, PartSuppression, PartBot, PartTrunk, PartNumber, PartUser, PartKey, PartVoicemail,
	PartReview, PartWebhook, PartCadence, PartCalendar}

// Beginning is the chain of no campaign in which stands what the first digests of an installation
// were made of; no month is so called.
var Beginning = Owner{Run: 1}

// PartHead are the heads of chains when digests began: the batches before have none. PartBegin says
// that every row has had a digest since.
const (
	PartHead  = 254
	PartBegin = 255
)

// Plus is the identifier of one of the rows that belong to another one: n is added to its last four
// bytes, so that the others tell whose it is.
func Plus(id [16]byte, n int) [16]byte {
	binary.BigEndian.PutUint32(id[12:], binary.BigEndian.Uint32(id[12:])+uint32(n)) //nolint:gosec // wraps on purpose
	return id
}

// loadParts reads the columns of all parts.
func (d *DB) loadParts(ctx context.Context, tx pgx.Tx) error {
	parts := make([]Part, len(Parts))
	for i, p := range Parts {
		parts[i] = *p
		q := &parts[i]
		rows, _ := tx.Query(ctx, `SELECT attname, atttypid FROM pg_attribute
			WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attname COLLATE "C"`, p.Table)
		var name string
		var oid uint32
		_, err := pgx.ForEachRow(rows, []any{&name, &oid}, func() error {
			if p.Has(name) {
				q.columns, q.oids = append(q.columns, name), append(q.oids, oid)
			}
			return nil
		})
		if err != nil {
			return err
		}
		id, order := cmp.Or(p.ID, p.Text), cmp.Or(p.Order, clock)
		q.Of, q.Label = cmp.Or(p.Of, "$1::text = ''"), cmp.Or(p.Label, "replace(("+id+")::text, '-', '')")
		q.selects = ", coalesce((" + order + ")::bigint, 0), t." + strings.Join(q.columns, ", t.") + " FROM "
	}
	d.parts.Store(&parts)
	return nil
}

// Has says whether a column of the table belongs to the part.
func (p *Part) Has(column string) bool {
	if p.Only != nil {
		return slices.Contains(p.Only, column)
	}
	for _, q := range Parts {
		if q.Table == p.Table && slices.Contains(q.Only, column) {
			return false
		}
	}
	_, not := p.Not[column]
	return !not
}

// loaded is the part with its columns.
func (d *DB) loaded(p *Part) *Part {
	parts := *d.parts.Load()
	return &parts[slices.Index(Parts, p)]
}

// Rows are the entries of rows that a transaction wrote, for the batches that end it.
type Rows struct {
	db    *DB
	key   *chain.RowKey
	dig   *chain.Digester
	stamp uint64
	of    map[Owner]*[]byte
	owner Owner // of the last entry, and where it is
	last  *[]byte
	spare []*[]byte // memory of transactions before
	loose map[Owner][]byte
}

// Written begins the entries of a transaction. Without the installation's key there are none.
func (d *DB) Written() *Rows {
	r := &Rows{db: d, key: d.RowKey.Load(), of: map[Owner]*[]byte{}, loose: map[Owner][]byte{}}
	if r.key != nil {
		r.dig, r.stamp = chain.NewDigester(r.key), column.Stamp(r.key[:])
	}
	return r
}

// spareCap is how many bytes of entries are kept as memory for the next transaction.
const spareCap = 1 << 18

// WrittenAgain is Written with the memory of a transaction that is over; nil is none.
func (d *DB) WrittenAgain(r *Rows) *Rows {
	if r == nil || r.key != d.RowKey.Load() {
		return d.Written()
	}
	for _, b := range r.of {
		if cap(*b) <= spareCap {
			*b = (*b)[:0]
			r.spare = append(r.spare, b)
		}
	}
	clear(r.of)
	clear(r.loose)
	r.last = nil
	return r
}

// add adds an entry.
func (r *Rows) add(of Owner, e *chain.Entry) {
	if r.last == nil || r.owner != of {
		b := r.of[of]
		if n := len(r.spare); b == nil && n > 0 {
			b, r.spare = r.spare[n-1], r.spare[:n-1]
		} else if b == nil {
			b = new([]byte)
		}
		r.of[of] = b
		r.owner, r.last = of, b
	}
	*r.last = e.AppendTo(*r.last)
}

// Len is how many bytes of entries an owner has.
func (r *Rows) Len(of Owner) int {
	if b := r.of[of]; b != nil {
		return len(*b)
	}
	return 0
}

// Stamp stands for the key that the digests are made with, in this process.
func (r *Rows) Stamp() uint64 { return r.stamp }

// Digester makes digests under the installation's key; nil without one.
func (d *DB) Digester() *chain.Digester {
	if k := d.RowKey.Load(); k != nil {
		return chain.NewDigester(k)
	}
	return nil
}

// Querier is a transaction, or a connection in one.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Digester makes the entries; nil without the installation's key.
func (r *Rows) Digester() *chain.Digester { return r.dig }

// Put adds the entry of a row whose columns add appends. Without the key it does nothing.
func (r *Rows) Put(of Owner, row chain.Row, order uint64, add func(dst []byte) ([]byte, error)) error {
	if r.dig == nil {
		return nil
	}
	e, err := r.dig.Row(row, order, add)
	if err == nil {
		r.add(of, &e)
	}
	return err
}

// Add adds the rows of a part as they now stand in the transaction. The alias of the table is t.
func (r *Rows) Add(ctx context.Context, tx Querier, of Owner, p *Part, where string, args ...any) error {
	if r.dig == nil {
		return nil
	}
	return r.db.EachRow(ctx, tx, p, r.dig, "WHERE "+where, func(e *chain.Entry) error {
		r.add(of, e)
		return nil
	}, args...)
}

// Remove adds that rows of a part, which are still there, are going to be deleted.
func (r *Rows) Remove(ctx context.Context, tx Querier, of Owner, p *Part, where string, args ...any) error {
	if r.dig == nil {
		return nil
	}
	// Locked, so that whoever changes a row meanwhile is before this, and its order too.
	return r.db.EachRow(ctx, tx, p, r.dig, "WHERE "+where+" FOR UPDATE OF t", func(e *chain.Entry) error {
		e.Digest = chain.Digest16{}
		e.Order++ // a row of that name may come again
		r.add(of, e)
		return nil
	}, args...)
}

// RemoveNamed adds that the row of a part with a text for its identifier is gone, whether it was there or
// not, at a time by the server.
func (r *Rows) RemoveNamed(of Owner, p *Part, name string, at time.Time) {
	if r.dig == nil {
		return
	}
	e := chain.Entry{Row: chain.Row{Part: p.Byte, ID: r.dig.Named(name)}, Order: OrderAt(at)}
	r.add(of, &e)
}

// First adds an entry of a row as it was when digests began. What the row is written as from then on
// comes after it.
func (r *Rows) First(of Owner, e *chain.Entry) { r.add(of, e) }

// Began adds that the installation has had digests of all rows from now on, and the heads of the
// chains at that time.
func (r *Rows) Began(ctx context.Context, tx pgx.Tx) error {
	rows, _ := tx.Query(ctx, "SELECT campaign_id, run, n FROM event_heads")
	var owner Owner
	var n int64
	add := func(part byte, name string, order uint64) error {
		return r.Put(Beginning, chain.Row{Part: part, ID: r.dig.Named(name)}, order,
			func(dst []byte) ([]byte, error) { return dst, nil })
	}
	if _, err := pgx.ForEachRow(rows, []any{&owner.Campaign, &owner.Run, &n}, func() error {
		return add(PartHead, HeadName(owner), uint64(n)) //nolint:gosec // positive
	}); err != nil {
		return err
	}
	return add(PartBegin, "begin", uint64(r.db.Config.Now().UnixMicro())) //nolint:gosec // after 1970
}

// HeadName names a chain for PartHead.
func HeadName(o Owner) string { return "head " + o.Campaign + " " + strconv.Itoa(o.Run) }

// EachRow calls f with the digest of each row of a part, as it stands.
func (d *DB) EachRow(ctx context.Context, tx Querier, p *Part, dig *chain.Digester, where string,
	f func(*chain.Entry) error, args ...any) error {
	p = d.loaded(p)
	return p.each(ctx, tx, dig, "''", p.Table+" t "+where,
		func(e *chain.Entry, _ string, _ Standing) error { return f(e) }, args...)
}

func (p *Part) each(ctx context.Context, tx Querier, dig *chain.Digester, label, from string,
	f func(e *chain.Entry, label string, s Standing) error, args ...any) error {
	rows, err := tx.Query(ctx, "SELECT "+label+"::text, CASE WHEN "+cmp.Or(p.InCall, "false")+" THEN 2 WHEN "+
		cmp.Or(p.Must, "true")+" THEN 1 ELSE 0 END, "+cmp.Or(p.ID, p.Text)+p.selects+from,
		append([]any{pgx.QueryResultFormats{1}}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values := rows.RawValues()
		e, err := p.entry(dig, values[2:])
		if err != nil {
			return err
		}
		if err := f(&e, string(values[0]), Standing(values[1][3])); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Types adds the types of a part's columns.
func (d *DB) Types(p *Part, to map[string]map[string]string) {
	if to[p.Table] == nil {
		to[p.Table] = map[string]string{}
	}
	for i, name := range d.loaded(p).columns {
		to[p.Table][name] = column.TypeName(d.loaded(p).oids[i])
	}
}

// Values calls f with what the digests of rows cover: their columns, in the form that is hashed.
func (d *DB) Values(ctx context.Context, tx Querier, p *Part, dig *chain.Digester, where string,
	f func(r chain.Row, columns map[string][]byte) error, args ...any) error {
	p = d.loaded(p)
	rows, err := tx.Query(ctx, "SELECT "+cmp.Or(p.ID, p.Text)+p.selects+p.Table+" t WHERE "+where,
		append([]any{pgx.QueryResultFormats{1}}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values := rows.RawValues()
		columns := map[string][]byte{}
		for i, v := range values[2:] {
			b, err := appendValue(nil, p.columns[i], p.oids[i], v)
			if err != nil {
				return err
			}
			if len(b) > 0 {
				columns[p.columns[i]] = b[1+len(p.columns[i])+4:] // after the name and the length
			}
		}
		if err := f(p.row(dig, values[0]), columns); err != nil {
			return err
		}
	}
	return rows.Err()
}

// row names a row by the identifier that selects read.
func (p *Part) row(dig *chain.Digester, id []byte) (r chain.Row) {
	if r.Part = p.Byte; p.ID != "" {
		copy(r.ID[:], id)
	} else {
		r.ID = dig.Named(string(id))
	}
	return r
}

// Standing is what an audit expects of a row's entries.
type Standing byte

const (
	MayHave  Standing = iota // an entry
	MustHave                 // one
	InCall                   // the row is not compared
)

// RowsOf calls f with the digest of each row of a campaign, or of none, and how it stands; with
// labels, also with how a finding names the row. With ids it reads only those rows, and those that
// belong to the same one, if they have identifiers of their own.
func (d *DB) RowsOf(ctx context.Context, tx Querier, p *Part, dig *chain.Digester, campaign string, ids [][16]byte,
	labels bool,
	f func(e *chain.Entry, label string, s Standing) error) error {
	p = d.loaded(p)
	if len(p.columns) == 0 {
		return nil // the table is of a later schema
	}
	label := "''"
	if labels {
		label = "(" + p.Label + ")"
	}
	if ids == nil || p.ID == "" {
		return p.each(ctx, tx, dig, label, p.Table+" t WHERE "+p.Of, f, campaign)
	}
	from, to := ids, ids
	if p.Key != "" {
		from, to = around(ids)
	}
	// OFFSET keeps the planner from reading the table first, and the identifiers for each of its rows.
	return p.each(ctx, tx, dig, label, "unnest($2::uuid[], $3::uuid[]) AS u(least, most) CROSS JOIN LATERAL "+
		"(SELECT * FROM "+p.Table+" t WHERE "+cmp.Or(p.Key, p.ID)+" BETWEEN u.least AND u.most OFFSET 0) t WHERE "+p.Of,
		f, campaign, from, to)
}

// around are the bounds of what identifiers may have been made of (Plus).
func around(ids [][16]byte) (from, to [][16]byte) {
	for _, id := range ids {
		clear(id[12:])
		from = append(from, id)
	}
	slices.SortFunc(from, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	from = slices.Compact(from)
	for _, id := range from {
		binary.BigEndian.PutUint32(id[12:], math.MaxUint32)
		to = append(to, id)
	}
	return from, to
}

// entry makes the entry of a row that selects read.
func (p *Part) entry(dig *chain.Digester, values [][]byte) (chain.Entry, error) {
	r := p.row(dig, values[0])
	order := binary.BigEndian.Uint64(values[1])
	if p.Order == "" {
		order |= atRest
	}
	return dig.Row(r, order, func(dst []byte) (_ []byte, err error) {
		for i, v := range values[2:] {
			if dst, err = appendValue(dst, p.columns[i], p.oids[i], v); err != nil {
				return dst, fmt.Errorf("%s.%s: %w", p.Table, p.columns[i], err)
			}
		}
		return dst, nil
	})
}

// OrderAt orders a row that has no order of its own by a time.
func OrderAt(t time.Time) uint64 { return atRest | uint64(t.UnixMicro()) } //nolint:gosec // after 1970

// appendValue appends a column, in PostgreSQL's binary form, to what the digest of its row covers.
// Nothing is appended for null, and for empty texts, zeros and false: a column that a later release
// adds leaves earlier digests as they are. (A time is never zero.)
func appendValue(dst []byte, name string, oid uint32, value []byte) ([]byte, error) {
	if len(value) == 0 {
		return dst, nil
	}
	switch oid {
	case pgtype.JSONBOID:
		return chain.AppendJSONColumn(dst, name, value[1:]) // after the version of the form
	case pgtype.TextOID, pgtype.ByteaOID, pgtype.BoolOID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float8OID:
		if zero(value) {
			return dst, nil
		}
	}
	return chain.AppendColumn(dst, name, value), nil
}

func zero(value []byte) bool {
	for _, b := range value {
		if b != 0 {
			return false
		}
	}
	return true
}

// AppendValues appends columns of the last row of a batch to what its digest covers.
func AppendValues[T any](dst []byte, b *column.Batch[T], some column.Some) (_ []byte, err error) {
	for _, i := range some {
		name, oid, value := b.Value(i)
		if dst, err = appendValue(dst, name, oid, value); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// AttemptOrder is PartAttempt's Order for a row that is written in the course of a call.
func AttemptOrder(a *AttemptRow) uint64 {
	n := uint64(progress(a)) //nolint:gosec // never negative
	if !a.Live() {
		n |= ended
	}
	return n
}

// ResultOrder orders what is stored of an attempt's outcome: with a result, by how many it replaced,
// then by when it came. One that waited in a spool may replace one that came later.
func ResultOrder(a *AttemptRow) uint64 {
	if a.Result == nil {
		return AttemptOrder(a)
	}
	const micros = 51                                                                       // bits of a time, until 2041
	replaced := uint64(min(max(a.Result.Revision, 0), 1<<9-1))                              //nolint:gosec // not negative
	return 1<<61 | replaced<<micros | uint64(a.Result.ReceivedAt.UnixMicro())&(1<<micros-1) //nolint:gosec // after 1970
}

// QualityOrder: what the end of a call says of its media stays.
const QualityOrder = 1 << 60

// LegOrder orders the versions of a leg.
func LegOrder(l *attempt.Leg) uint64 {
	n := uint64(l.Seq) * 4 //nolint:gosec // never negative
	if l.EndedAt != nil {
		n++
	}
	if l.Proof != "" {
		n += 2
	}
	return n
}

// OwnersOf are the chains of attempts.
func OwnersOf(ctx context.Context, tx pgx.Tx, attempts []string) ([]Owner, error) {
	rows, _ := tx.Query(ctx, "SELECT DISTINCT campaign_id, CASE WHEN campaign_id <> '' THEN run ELSE 0 END "+
		"FROM attempts WHERE id = ANY($1::uuid[])", attempts)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Owner])
}
