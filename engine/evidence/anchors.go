package evidence

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"dialler/engine/anchor"
	"dialler/engine/chain"
	"dialler/engine/spine"
)

// Anchored is what a witness outside the installation was shown of the run.
type Anchored struct {
	Kind     anchor.Kind `json:"kind"`
	URL      string      `json:"url"`
	Receipts int         `json:"receipts"`
	// Of the newest receipt: the seal, its hash, when it was shown, and the last batch that it covers.
	N     int64       `json:"n"`
	Hash  anchor.Hash `json:"hash"`
	At    time.Time   `json:"at"`
	Batch int64       `json:"batch"`
}

// anchorLine is a line of anchors.jsonl: the text of an entry of the installation's spine, or the receipt
// of a witness that was shown the entry of the line before it.
type anchorLine struct {
	Entry   string          `json:"entry,omitempty"`
	Receipt *anchor.Receipt `json:"receipt,omitempty"`
}

// trail follows entries of the spine, each of which names the hash of the one before, from a seal that has
// the head of the run to one that witnesses were shown.
type trail struct {
	of        spine.Chain
	n         int64
	hash      chain.Hash
	head      spine.Head // of the run, in the last seal that has one without a gap since
	witnesses []Anchored
}

var (
	errEntry   = errors.New("an entry of the installation's record cannot be read")
	errReceipt = errors.New("a receipt is not of the entry before it")
	errNoHead  = errors.New("a receipt is of an entry to which nothing leads from a seal of this run")
)

// entry advances to the next entry.
func (t *trail) entry(text []byte) error {
	var e struct {
		N        int64           `json:"n"`
		Kind     spine.Kind      `json:"kind"`
		Previous string          `json:"previous"`
		Data     json.RawMessage `json:"data"`
	}
	if json.Unmarshal(text, &e) != nil {
		return errEntry
	}
	if e.N != t.n+1 || e.Previous != t.hash.String() {
		t.head = spine.Head{} // a gap: what led here is over
	}
	t.n, t.hash = e.N, chain.Digest(text)
	var s spine.Seal
	if e.Kind != spine.KindSeal {
		return nil
	}
	if json.Unmarshal(e.Data, &s) != nil {
		return errEntry
	}
	for _, h := range s.Heads {
		if h.Chain == t.of {
			t.head = h
		}
	}
	return nil
}

// receipt takes a receipt for the last entry.
func (t *trail) receipt(r *anchor.Receipt) error {
	if r.N != t.n || chain.Hash(r.Hash) != t.hash {
		return errReceipt
	}
	if t.head.N == 0 {
		return errNoHead
	}
	if r.Kind == anchor.TimeStamp {
		if _, err := anchor.Verify(r.Data, r.Hash, nil, nil); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(t.witnesses, func(a Anchored) bool { return a.Kind == r.Kind && a.URL == r.URL })
	if i < 0 {
		i = len(t.witnesses)
		t.witnesses = append(t.witnesses, Anchored{Kind: r.Kind, URL: r.URL})
	}
	a := &t.witnesses[i]
	a.Receipts++
	a.N, a.Hash, a.At, a.Batch = r.N, r.Hash, r.At.UTC(), t.head.N
	return nil
}

// SpineEntry writes the text of an entry of the spine: those from a seal that has the head of the run to
// one that a witness was shown, in their order.
func (w *Writer) SpineEntry(text []byte) error {
	if err := w.open(AnchorsFile); err != nil {
		return err
	}
	if err := w.trail.entry(text); err != nil {
		return err
	}
	return json.NewEncoder(w.out).Encode(anchorLine{Entry: string(text)})
}

// Receipt writes the receipt of a witness that was shown the last entry.
func (w *Writer) Receipt(r *anchor.Receipt) error {
	if err := w.open(AnchorsFile); err != nil {
		return err
	}
	if err := w.trail.receipt(r); err != nil {
		return err
	}
	return json.NewEncoder(w.out).Encode(anchorLine{Receipt: r})
}

// anchorCap bounds a line of anchors.jsonl: the first seal of a process has the heads of all chains.
const anchorCap = 64 << 20

// anchors checks the receipts, and notes which hashes of batches they vouch for: events compares them.
func (v *Verdict) anchors(r io.Reader) error {
	t := trail{of: spine.Chain{Campaign: v.Manifest.Campaign, Run: v.Manifest.Run}, witnesses: []Anchored{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), anchorCap)
	for lines.Scan() {
		var l anchorLine
		err := json.Unmarshal(lines.Bytes(), &l)
		switch {
		case err != nil:
			return errors.New("a line is not JSON")
		case l.Receipt == nil:
			err = t.entry([]byte(l.Entry))
		default:
			if err = t.receipt(l.Receipt); err == nil {
				v.sealed[t.head.N] = t.head.Hash
			}
		}
		if err != nil {
			return err
		}
	}
	if !slices.EqualFunc(t.witnesses, v.Manifest.Anchors, func(a, b Anchored) bool {
		same := a.At.Equal(b.At)
		a.At = b.At
		return same && a == b
	}) {
		v.wrong("the manifest does not name the witnesses of %s", AnchorsFile)
	}
	return lines.Err()
}
