package history

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"dialler/engine/chain"
	"dialler/persistence/table"
)

// written compares the rows of a campaign, or of none, with the digests that its batches have of them.
// Without the installation's key nothing is compared.
type written struct {
	a    *auditor
	db   *table.DB
	dig  *chain.Digester
	rows ledger
	// begun says that every row has had a digest for as long as the installation's first digests;
	// before are the numbers of the chains' last batches at that time.
	begun  bool
	before map[[16]byte]uint64
	coded  map[int]bool // chains in which a batch had a code
	since  bool         // only rows that the batches name are compared
}

func (s *Records) newWritten(a *auditor) (*written, error) {
	w := &written{a: a, db: s.db, dig: s.db.Digester(), before: map[[16]byte]uint64{}, coded: map[int]bool{}}
	if w.dig == nil {
		return w, nil
	}
	rows, err := a.tx.Query(a.ctx, "SELECT rows, code FROM event_batches WHERE campaign_id = '' AND run = $1 ORDER BY n",
		table.Beginning.Run)
	if err != nil {
		return w, err
	}
	defer rows.Close()
	for rows.Next() {
		var entries, code []byte
		if err := rows.Scan(&entries, &code); err != nil {
			return w, err
		}
		if !w.dig.Batch("", table.Beginning.Run, nil, entries).Equal(code) {
			continue // chains says so
		}
		err := chain.Entries(entries, func(e *chain.Entry) {
			switch e.Part {
			case table.PartHead:
				w.before[e.ID] = max(w.before[e.ID], e.Order)
			case table.PartBegin:
				w.begun = true
			}
		})
		if err != nil {
			return w, err
		}
	}
	return w, rows.Err()
}

func (w *written) close() { w.rows.close() }

// batch checks a batch's code and takes its entries.
func (w *written) batch(b *batchRow) error {
	if w.dig == nil {
		return nil
	}
	owner := string(w.a.id)
	before := w.before[w.dig.Named(table.HeadName(table.Owner{Campaign: owner, Run: b.run}))]
	switch {
	case b.code == nil && (w.coded[b.run] || w.begun && uint64(b.n) > before): //nolint:gosec // positive
		w.a.found(Finding{Run: b.run, Batch: b.n, Table: "event_batches",
			What: "it has no code of the installation's key: it was added"})
	case b.code != nil:
		w.coded[b.run] = true
		if !w.dig.Batch(owner, b.run, b.digests, b.rows).Equal(b.code) {
			w.a.found(Finding{Run: b.run, Batch: b.n, Table: "event_batches",
				What: "its code is not of the installation's key: it, or an event of it, was changed or added"})
		}
	}
	var err error
	if bad := chain.Entries(b.rows, func(e *chain.Entry) {
		if e.Part < table.PartHead && err == nil {
			err = w.rows.add(&record{Entry: *e})
		}
	}); bad != nil {
		w.a.found(Finding{Run: b.run, Batch: b.n, Table: "event_batches",
			What: "the digests of its rows cannot be read"})
	}
	return err
}

// verdict is what is wrong with a row.
type verdict struct {
	part int // index of table.Parts
	what string
}

const (
	rowAdded   = "no event says that it was written: it was added"
	rowBack    = "it was removed, and is there again"
	rowOlder   = "it is as it was before its last change: an older copy was put back"
	rowChanged = "it is not as it was written"
	rowGone    = "it was written, and is gone"
)

// idsCap is how many rows are looked up at a time.
const idsCap = 10_000

// compare reads all rows and compares each with its last entry.
func (w *written) compare() error {
	if w.dig == nil {
		return nil
	}
	ids, err := w.named()
	if err != nil {
		return err
	}
	for i, p := range table.Parts {
		if w.since && len(ids[p.Byte]) == 0 || w.a.id != "" && p.Of == "" { // of the installation
			continue
		}
		parts := [][][16]byte{nil} // all rows
		if w.since && p.ID != "" {
			parts = slices.Collect(slices.Chunk(ids[p.Byte], idsCap))
		}
		for _, some := range parts {
			err := w.db.RowsOf(w.a.ctx, w.a.tx, p, w.dig, string(w.a.id), some, false,
				func(e *chain.Entry, _ string, s table.Standing) error {
					return w.rows.add(&record{Entry: *e, present: true, standing: s, part: uint8(i)}) //nolint:gosec // few
				})
			if err != nil {
				return err
			}
		}
	}
	dropped, err := w.dropped()
	if err != nil {
		return err
	}
	wrong := map[chain.Row]verdict{}
	err = w.rows.each(func(list []record) {
		v, ok := judge(list)
		switch {
		case ok:
		case v.what == rowAdded && w.since:
		case v.what == rowAdded && (!w.begun || dropped):
			w.a.Unattested++
		case len(wrong) > findingsCap:
			w.a.More = true
		default:
			wrong[list[0].Row] = v
		}
	})
	if err != nil || len(wrong) == 0 {
		return err
	}
	return w.name(wrong)
}

// named are the identifiers of the rows that the batches name, by part, of an audit since a seal.
func (w *written) named() (ids map[byte][][16]byte, err error) {
	if !w.since {
		return nil, nil
	}
	ids = map[byte][][16]byte{}
	return ids, w.rows.each(func(list []record) { ids[list[0].Part] = append(ids[list[0].Part], list[0].ID) })
}

// dropped says whether events of a run are gone with their chain, and with it the digests of rows.
func (w *written) dropped() (some bool, err error) {
	if w.a.id == "" {
		return false, nil
	}
	err = w.a.tx.QueryRow(w.a.ctx, "SELECT EXISTS (SELECT FROM run_checkpoints WHERE campaign_id = $1 AND events_gone)",
		string(w.a.id)).Scan(&some)
	return some, err
}

// judge compares a row with its entries: all records of one row.
func judge(list []record) (v verdict, ok bool) {
	var last uint64
	there := -1
	entries := false
	for i := range list {
		switch r := &list[i]; {
		case r.present:
			there = i
		case !entries || r.Order > last:
			entries, last = true, r.Order
		}
	}
	known, gone, older := false, false, false
	for i := range list {
		r := &list[i]
		switch {
		case r.present:
		case r.Order == last:
			gone = gone || r.Gone()
			known = known || there >= 0 && r.Digest == list[there].Digest
		default:
			older = older || there >= 0 && r.Digest == list[there].Digest
		}
	}
	if there < 0 {
		v.part = slices.IndexFunc(table.Parts, func(p *table.Part) bool { return p.Byte == list[0].Part })
		v.what = rowGone
		return v, gone
	}
	v.part = int(list[there].part)
	switch {
	case known, list[there].standing == table.InCall:
		return v, true
	case !entries:
		v.what = rowAdded
		return v, list[there].standing == table.MayHave
	case gone:
		v.what = rowBack
	case older:
		v.what = rowOlder
	default:
		v.what = rowChanged
	}
	return v, false
}

// name reports the rows by what a reader knows them by.
func (w *written) name(wrong map[chain.Row]verdict) error {
	var list []Finding
	for i, p := range table.Parts {
		if !slices.ContainsFunc(slices.Collect(values(wrong)), func(v verdict) bool {
			return v.part == i && v.what != rowGone
		}) {
			continue
		}
		err := w.db.RowsOf(w.a.ctx, w.a.tx, p, w.dig, string(w.a.id), nil, true,
			func(e *chain.Entry, label string, _ table.Standing) error {
				if v, ok := wrong[e.Row]; ok && v.part == i {
					list = append(list, Finding{Table: p.Name, Row: label, What: v.what})
					delete(wrong, e.Row)
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	for row, v := range wrong {
		list = append(list, Finding{Table: table.Parts[v.part].Name, Row: hex.EncodeToString(row.ID[:]), What: v.what})
	}
	slices.SortFunc(list, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Table, y.Table), cmp.Compare(x.Row, y.Row))
	})
	for _, f := range list {
		w.a.found(f)
	}
	return nil
}

func values(m map[chain.Row]verdict) func(func(verdict) bool) {
	return func(yield func(verdict) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// record is an entry, or a row that is there.
type record struct {
	chain.Entry
	present  bool
	standing table.Standing
	part     uint8 // index of table.Parts, of a row that is there
}

const recordSize = 1 + 16 + 8 + chain.DigestSize + 2

func (r *record) appendTo(b []byte) []byte {
	b = append(append(b, r.Part), r.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, r.Order)
	b = append(b, r.Digest[:]...)
	flags := byte(r.standing) << 1
	if r.present {
		flags |= 1
	}
	return append(b, flags, r.part)
}

func (r *record) read(b []byte) {
	r.Part = b[0]
	copy(r.ID[:], b[1:])
	r.Order = binary.BigEndian.Uint64(b[17:])
	copy(r.Digest[:], b[25:])
	r.present, r.standing, r.part = b[41]&1 != 0, table.Standing(b[41]>>1), b[42]
}

func (r *record) compare(s *record) int {
	if n := bytes.Compare(r.ID[:], s.ID[:]); n != 0 {
		return n
	}
	return cmp.Compare(r.Part, s.Part)
}
