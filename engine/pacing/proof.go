package pacing

import "math/bits"

// Proof is how far a campaign's bot has recently shown that it takes calls, and how many seats
// count for new dials: after an answer that found no bot the run begins with one line, and doubles
// them with each answer that found one, less the share of recent failures. The zero Proof trusts
// every seat: nothing was missed.
//
// SEMANTICS §6, proven seats. Lines in flight keep the right to try the bot. For a bot with
// sockets, an open socket is a try like an answer, and proves as much: while one of the last tries
// failed, lines only leave with sockets (sockets.go).
type Proof struct {
	Window int    // free seats that count, 0 means all
	Missed uint16 // the last tries, the newest in the lowest bit: 1 found no bot
}

const proofTries = 16 // tries in Missed

// Taken notes that the bot took an answer, or that its socket opened; seats is the total.
func (p *Proof) Taken(seats int) {
	p.Missed <<= 1
	if p.Window *= 2; p.Window >= seats {
		p.Window = 0
	}
}

// NotTaken notes that an answer found no bot although it had a seat, or that a socket could not be
// opened.
func (p *Proof) NotTaken() { p.Missed, p.Window = p.Missed<<1|1, 1 }

// free is how many of the free seats count. While more was abandoned than the cap allows, a bot
// that missed a recent answer is tried by one line at a time.
func (p Proof) free(free int, over bool) int {
	if free <= 0 || p == (Proof{}) {
		return free
	}
	if over {
		return 1
	}
	n := free
	if p.Window > 0 {
		n = min(n, p.Window)
	}
	return max(n-n*bits.OnesCount16(p.Missed)/proofTries, 1)
}
