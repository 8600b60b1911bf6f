package carrier

import (
	"cmp"
	"context"
	"slices"

	"dialler/engine"
)

// Ledger answers questions about the calls of a running carrier.
type Ledger struct{ c *Carrier }

// Calls gives all rows, oldest INVITE first.
func (l Ledger) Calls() Rows {
	var out Rows
	for i := range l.c.shards {
		out = l.c.shards[i].snapshot(out, false)
	}
	slices.SortFunc(out, func(a, b Call) int {
		return cmp.Or(a.InviteAt.Compare(b.InviteAt), cmp.Compare(a.CallID, b.CallID))
	})
	return out
}

// Count returns the number of rows.
func (l Ledger) Count() (n int) {
	for i := range l.c.shards {
		sh := &l.c.shards[i]
		sh.mu.Lock()
		n += len(sh.rows)
		sh.mu.Unlock()
	}
	return n
}

// Live gives the rows of calls that may occupy a phone now.
func (l Ledger) Live() Rows {
	var out Rows
	for i := range l.c.shards {
		out = l.c.shards[i].snapshot(out, true)
	}
	return out
}

// Call returns the latest row of a Call-ID.
func (l Ledger) Call(id string) (Call, bool) { return l.c.shard(id).row(id) }

// To returns the calls to a number, oldest first.
func (l Ledger) To(number engine.PhoneNumber) Rows { return l.Calls().To(number) }

// Overlaps, DuplicateInvites, ByCode and Summary judge all rows; see Rows.
func (l Ledger) Overlaps() []Overlap { return l.Calls().Overlaps() }

// DuplicateInvites gives the Call-IDs that were dialled twice.
func (l Ledger) DuplicateInvites() []Duplicate { return l.Calls().DuplicateInvites() }

// ByCode counts calls by final code.
func (l Ledger) ByCode() map[int]int { return l.Calls().ByCode() }

// Summary counts everything.
func (l Ledger) Summary() Summary { return l.Calls().Summary() }

// Stray counts messages of no call: requests answered 481, ACKs and responses that were not
// expected, datagrams that are not SIP.
func (l Ledger) Stray() map[string]int { return l.c.stray.snapshot() }

// Wait returns once cond holds, or with the error of ctx. It checks after every change of a call,
// and ten times a second because RTP counts change without notice.
func (l Ledger) Wait(ctx context.Context, cond func(Ledger) bool) error {
	return l.c.changed.Until(ctx, func() bool { return cond(l) })
}
