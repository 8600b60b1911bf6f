package commit

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"dialler/engine/chain"

	"dialler/persistence/column"

	"dialler/persistence/table"

	"github.com/jackc/pgx/v5/pgtype"
)

// queueEvents comes after all other rows: it locks the head of a chain until the commit, so that a
// transaction waiting for the head needs no further lock.
func (t *commit) queueEvents() (err error) {
	events := t.g.rows.events
	if len(events) == 0 {
		return nil
	}
	b := &t.g.events
	b.Reset(table.EventColumns, &t.g.shapes.Events)
	links := t.g.links[:0]
	loose := false // some event belongs to no campaign's sequence
	var row table.EventRow
	for _, e := range events {
		if row, t.g.text, err = table.NewEventRow(e, t.g.text); err == nil {
			err = b.Add(&row)
		}
		if err != nil {
			return err
		}
		links = append(links, link{campaign: column.Clean(string(e.Campaign)), run: e.Run, seq: e.Seq,
			at: e.At.UnixMicro(), digest: row.Digest})
		loose = loose || e.Seq <= 0
	}
	t.g.links = links
	slices.SortFunc(links, link.compare)
	if t.repeated || loose || chains(links) > table.ChainsCap {
		t.queue("events", [][]byte{b.Param()}, nothing)
		return nil
	}
	t.queue("fresh events", [][]byte{b.Param()}, nothing)
	for len(links) > 0 {
		n := 1
		for n < len(links) && links[n].sameChain(&links[0]) {
			n++
		}
		t.queueBatch(links[:n])
		links = links[n:]
	}
	return nil
}

// queueBatch appends the events of one run to its chain.
func (t *commit) queueBatch(events []link) {
	seqs, digests := t.arrayOf(0, pgtype.Int8OID), t.g.text[:0]
	for i := range events {
		seqs.Int8(events[i].seq)
		digests = append(digests, events[i].digest[:]...)
	}
	t.g.text = digests
	run := binary.BigEndian.AppendUint32(nil,
		uint32(int32(events[0].run))) //nolint:gosec // two's complement is the wire form
	t.queue("append batch", [][]byte{[]byte(events[0].campaign), run, seqs.Param(), digests}, nothing)
}

// link is what an event's chain needs of it.
type link struct {
	campaign string
	run      int
	seq, at  int64 // at in microseconds
	digest   chain.Hash
}

func (l *link) sameChain(m *link) bool { return l.campaign == m.campaign && l.run == m.run }

// compare orders events as the statement for all chains takes them.
func (l link) compare(m link) int {
	return cmp.Or(cmp.Compare(l.campaign, m.campaign), cmp.Compare(l.run, m.run), cmp.Compare(l.seq, m.seq),
		cmp.Compare(l.at, m.at),
		bytes.Compare(l.digest[:], m.digest[:]))
}

// chains counts the chains; links are sorted.
func chains(links []link) (n int) {
	for i := range links {
		if i == 0 || !links[i].sameChain(&links[i-1]) {
			n++
		}
	}
	return n
}
