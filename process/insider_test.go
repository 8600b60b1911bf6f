package process

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/engine/anchor"
	"dialler/engine/chain"
	"dialler/engine/seal"
	"dialler/engine/spine"
	"dialler/persistence"
	"dialler/persistence/commit"
	"dialler/persistence/pool"
	"dialler/persistence/table"
	"dialler/process/keys"
)

// insider may do everything in the database, has the signing key and the data folder, and reaches no
// witness. He lies with the product's own code.
type insider struct {
	t      *testing.T
	file   string // of seals
	conn   *pgx.Conn
	db     *table.DB
	store  *persistence.Store
	key    seal.Key
	rowKey chain.RowKey
	tables []string
}

func newInsider(w *world) *insider {
	t := w.t
	t.Helper()
	ctx := t.Context()
	x := &insider{t: t, file: filepath.Join(w.flags.DataDir, SealsName)}
	conns, err := pool.Open(ctx, w.url, persistence.Config{})
	x.must(err)
	t.Cleanup(conns.Close)
	x.must(conns.OpenWriters(ctx, commit.Prepare))
	x.db, err = table.Open(ctx, conns)
	x.must(err)
	x.key, err = keys.Signing(w.flags.SigningKey, "")
	x.must(err)
	x.conn, err = pgx.Connect(ctx, w.url)
	x.must(err)
	t.Cleanup(func() { _ = x.conn.Close(context.Background()) })
	pool.ScanUTC(x.conn)
	x.exec("SET session_replication_role = replica") // a superuser need not care what refers to what
	x.rowKey, err = spine.Unwrapped(x.key, x.entries()[0].genesis(t).RowKey)
	x.must(err)
	x.db.RowKey.Store(&x.rowKey)
	x.store, err = persistence.Open(ctx, w.url, persistence.Config{SkipMigrations: true})
	x.must(err)
	t.Cleanup(x.store.Close)
	x.store.UseRowKey(x.rowKey)
	rows, _ := x.conn.Query(ctx, `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
		AND relnamespace = current_schema()::regnamespace AND relname !~ '^(river|goose|webhook_)' ORDER BY 1`)
	x.tables, err = pgx.CollectRows(rows, pgx.RowTo[string])
	x.must(err)
	return x
}

func (x *insider) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *insider) exec(sql string, args ...any) {
	x.t.Helper()
	if _, err := x.conn.Exec(x.t.Context(), sql, args...); err != nil {
		x.t.Fatalf("%s: %v", sql, err)
	}
}

// keep makes a backup of all tables and of the file of seals, as of one moment.
func (x *insider) keep(schema string) (seals []byte) {
	x.t.Helper()
	x.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE SCHEMA " + schema)
	for _, name := range x.tables {
		x.exec("CREATE TABLE " + schema + "." + name + " AS SELECT * FROM " + name)
	}
	var last int64
	x.must(x.conn.QueryRow(x.t.Context(), "SELECT max(n) FROM "+schema+".spine").Scan(&last))
	x.exec("COMMIT")
	raw, err := os.ReadFile(x.file)
	x.must(err)
	x.must(eachEntry(bytes.NewReader(raw), func(_ int, e *spine.Entry) error {
		if e != nil && e.N <= last {
			line, err := e.Line()
			seals = append(append(seals, line...), '\n')
			return err
		}
		return nil
	}))
	return seals
}

// restore puts a backup in place.
func (x *insider) restore(schema string, seals []byte) {
	x.t.Helper()
	for _, name := range x.tables {
		x.exec("DELETE FROM " + name + "; INSERT INTO " + name + " SELECT * FROM " + schema + "." + name)
	}
	x.must(os.WriteFile(x.file, seals, 0o600))
	x.store.UseRowKey(x.rowKey) // a spine that begins anew has another
}

// digests are those of all rows as they now stand.
func (x *insider) digests() map[chain.Row]chain.Digest16 {
	x.t.Helper()
	rows, _ := x.conn.Query(x.t.Context(), "SELECT id FROM campaigns")
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	x.must(err)
	all := map[chain.Row]chain.Digest16{}
	for _, id := range append(ids, "") {
		for _, p := range table.Parts {
			x.must(x.db.RowsOf(x.t.Context(), x.conn, p, x.db.Digester(), id, nil, false,
				func(e *chain.Entry, _ string, _ table.Standing) error { all[e.Row] = e.Digest; return nil }))
		}
	}
	return all
}

// audited is what dialler db audit says with a file of seals.
func (x *insider) audited(seals string) (string, error) {
	x.t.Helper()
	var out bytes.Buffer
	err := Audit(x.t.Context(), x.store, AuditOf{Seals: []string{seals}, Out: &out}, x.key.Public())
	return out.String(), err
}

// compared is what it says of the receipts in a file.
func (x *insider) compared(anchors string) (string, error) {
	x.t.Helper()
	var out bytes.Buffer
	in, err := os.Open(anchors) //nolint:gosec // the test's own
	x.must(err)
	defer func() { _ = in.Close() }()
	err = AuditAnchors(x.t.Context(), x.store, in, nil, &out, false)
	return out.String(), err
}

// lie changes tables and events, and makes digests, chains, codes, heads, spine and the file of seals
// anew, so that all of it has always been so.
func (x *insider) lie(sql ...string) {
	x.t.Helper()
	before := x.digests()
	for _, s := range sql {
		x.exec(s)
	}
	after := x.digests()
	x.events()
	moved := x.batches(func(e *chain.Entry) bool {
		if d, known := before[e.Row]; known && e.Digest == d {
			now, there := after[e.Row]
			e.Digest = now
			return there
		}
		_, known := before[e.Row]
		_, there := after[e.Row]
		return there || !known
	})
	x.sign(moved)
}

// events makes the digest of each event anew.
func (x *insider) events() {
	x.t.Helper()
	rows, _ := x.conn.Query(x.t.Context(), `SELECT campaign_id, run, seq, at, type, version,
		coalesce(replace(contact_id::text, '-', ''), ''), coalesce(replace(attempt_id::text, '-', ''), ''), leg, activity,
		data::text, digest FROM events WHERE seq > 0`)
	type stored struct {
		chain.Record
		digest []byte
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e stored, err error) {
		err = row.Scan(&e.Campaign, &e.Run, &e.Seq, &e.At, &e.Type, &e.Version, &e.Contact, &e.Attempt, &e.Leg, &e.Activity,
			&e.Data, &e.digest)
		return e, err
	})
	x.must(err)
	for i := range list {
		e := &list[i]
		text, err := e.AppendText(nil)
		x.must(err)
		if d := chain.Digest(text); !bytes.Equal(d[:], e.digest) {
			x.exec("UPDATE events SET digest = $1 WHERE campaign_id = $2 AND seq = $3", d[:], string(e.Campaign), e.Seq)
		}
	}
}

// place is a batch of a chain.
type place struct {
	spine.Chain
	n int64
}

// batches makes the batches of campaigns' chains anew, without events that are gone and without the
// entries of rows that row does not keep, and returns what became of each.
func (x *insider) batches(row func(*chain.Entry) bool) map[place]spine.Head {
	x.t.Helper()
	rows, _ := x.conn.Query(x.t.Context(), `SELECT b.campaign_id, b.run, b.n, coalesce(b.rows, ''),
		coalesce((SELECT array_agg(e.seq ORDER BY e.seq) FROM events e WHERE e.campaign_id = b.campaign_id AND e.seq > 0
			AND e.seq = ANY (b.seqs)), '{}'),
		coalesce((SELECT string_agg(e.digest, ''::bytea ORDER BY e.seq) FROM events e WHERE e.campaign_id = b.campaign_id
			AND e.seq > 0 AND e.seq = ANY (b.seqs)), '')
		FROM event_batches b WHERE b.campaign_id <> '' ORDER BY b.campaign_id, b.run, b.n`)
	type batch struct {
		place
		rows, digests []byte
		seqs          []int64
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b batch, err error) {
		err = row.Scan(&b.Campaign, &b.Run, &b.n, &b.rows, &b.seqs, &b.digests)
		return b, err
	})
	x.must(err)
	x.exec("DELETE FROM event_batches WHERE campaign_id <> ''; DELETE FROM event_heads WHERE campaign_id <> ''")
	moved, dig := map[place]spine.Head{}, x.db.Digester()
	var at chain.Verifier
	for i := range list {
		b := &list[i]
		if i == 0 || b.Chain != list[i-1].Chain {
			at = chain.Verifier{}
		}
		var kept []byte
		x.must(chain.Entries(b.rows, func(e *chain.Entry) {
			if row(e) {
				kept = e.AppendTo(kept)
			}
		}))
		if len(kept) == 0 && len(b.seqs) == 0 {
			if at.N > 0 {
				moved[b.place] = spine.Head{Chain: b.Chain, N: at.N, Hash: at.Hash.String()}
			}
			continue
		}
		at.N, at.Hash = at.N+1, chain.Link(at.Hash, b.digests, kept)
		code := dig.Batch(string(b.Campaign), b.Run, b.digests, kept)
		moved[b.place] = spine.Head{Chain: b.Chain, N: at.N, Hash: at.Hash.String()}
		x.exec(`INSERT INTO event_batches (campaign_id, run, n, seqs, hash, rows, code)
			VALUES ($1, $2, $3, $4, $5, nullif($6, ''::bytea), $7)`, string(b.Campaign), b.Run, at.N, b.seqs, at.Hash[:], kept,
			code[:])
		x.exec(`INSERT INTO event_heads (campaign_id, run, n, hash) VALUES ($1, $2, $3, $4)
			ON CONFLICT (campaign_id, run) DO UPDATE SET n = $3, hash = $4`, string(b.Campaign), b.Run, at.N, at.Hash[:])
	}
	return moved
}

// entry is an entry of the spine.
type entry struct{ spine.Entry }

func (e entry) genesis(t *testing.T) spine.Genesis {
	t.Helper()
	g, _, err := e.Genesis()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (x *insider) entries() (list []entry) {
	x.t.Helper()
	rows, _ := x.conn.Query(x.t.Context(), "SELECT n, at, kind, data::text, signed_by, signature FROM spine ORDER BY n")
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e entry, err error) {
		var data string
		err = row.Scan(&e.N, &e.At, &e.Kind, &data, &e.SignedBy, &e.Signature)
		e.At, e.Data = e.At.UTC(), json.RawMessage(data)
		return e, err
	})
	x.must(err)
	return list
}

// sign makes the spine anew, with chains as they are now, and the file with it.
func (x *insider) sign(moved map[place]spine.Head) {
	x.t.Helper()
	list, hashes := x.entries(), map[int64]chain.Hash{}
	x.exec("DELETE FROM spine")
	var lines []byte
	for i := range list {
		e := &list[i]
		var data any
		switch e.Kind { //nolint:exhaustive // the others name no chain
		case spine.KindSeal:
			var s spine.Seal
			x.must(json.Unmarshal(e.Data, &s))
			heads := []spine.Head{}
			for _, h := range s.Heads {
				switch now, ok := moved[place{h.Chain, h.N}]; {
				case h.Campaign == "":
					heads = append(heads, h)
				case ok:
					heads = append(heads, now)
				}
			}
			s.Heads = heads
			data = s
		case spine.KindAnchor:
			var r anchor.Receipt
			x.must(json.Unmarshal(e.Data, &r))
			r.Hash = anchor.Hash(hashes[r.N])
			data = r
		}
		if data != nil {
			raw, err := json.Marshal(data)
			x.must(err)
			e.Data = raw
		}
		e.Previous = hashes[e.N-1]
		x.must(e.Sign(x.key))
		hashes[e.N] = e.Hash()
		line, err := e.Line()
		x.must(err)
		lines = append(append(lines, line...), '\n')
		hash := e.Hash()
		x.exec(`INSERT INTO spine (n, at, kind, data, previous, hash, signed_by, signature)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, e.N, e.At, string(e.Kind), string(e.Data), e.Previous[:], hash[:],
			e.SignedBy, e.Signature)
	}
	x.must(os.WriteFile(x.file, lines, 0o600))
}

// begin forgets spine and chains, and lets the product begin both: as of an installation that is older
// than evidence.
func (x *insider) begin() {
	x.t.Helper()
	ctx := x.t.Context()
	x.exec(`DELETE FROM spine; DELETE FROM event_batches; DELETE FROM event_heads; UPDATE events SET digest = NULL`)
	x.must(os.Remove(x.file))
	step := x.open()
	_, err := x.store.BeginDigests(ctx)
	x.must(err)
	_, err = x.store.Spine.NewSealer("one").Seal(ctx)
	x.must(err)
	x.must(step(ctx))
}

// goOn appends entries until the spine has a number.
func (x *insider) goOn(n int64) {
	x.t.Helper()
	ctx := x.t.Context()
	step := x.open()
	for have := int64(0); have < n; {
		e, err := x.store.Spine.Append(ctx, x.key, spine.KindStart, spine.Start{})
		x.must(err)
		have = e.N
	}
	x.must(step(ctx))
}

func (x *insider) open() func(context.Context) error {
	x.t.Helper()
	step, err := OpenSpine(x.t.Context(), x.store, x.key, filepath.Dir(x.file), zerolog.Nop())
	x.must(err)
	return step
}

// gone are the rows of a campaign.
func gone(id string) []string {
	list := []string{"DELETE FROM legs WHERE attempt_id IN (SELECT id FROM attempts WHERE campaign_id = '" + id + "')",
		"DELETE FROM contact_variables WHERE contact_id IN (SELECT id FROM contacts WHERE campaign_id = '" + id + "')",
		"DELETE FROM campaigns WHERE id = '" + id + "'",
	}
	for _, name := range []string{"contacts", "contact_runs", "attempts", "events", "exclusions", "imports"} {
		list = append(list, "DELETE FROM "+name+" WHERE campaign_id = '"+id+"'")
	}
	return list
}
