package pacing

import "math/bits"

// Proof is how far the bot of a campaign has shown lately that it takes calls. A seat
// counts for new dials only as far as that: after an answer that found no bot the run
// begins with one line, and doubles them with each answer that did, less the share of
// the last answers that did not. The zero Proof trusts every seat: nothing was missed.
//
// SEMANTICS §6, proven seats. Lines in flight keep the right to try the bot. Of a bot with
// sockets one that stands is a try like an answer, and proves as much: while one of the last
// tries failed, lines leave with sockets alone (sockets.go).
type Proof struct {
	Window int    // free seats that count, 0: all
	Missed uint16 // the last tries, the newest in the lowest bit: 1 found no bot
}

const proofTries = 16 // tries in Missed

// Taken: the bot took an answer, or its socket stands; of so many seats.
func (p *Proof) Taken(seats int) {
	p.Missed <<= 1
	if p.Window *= 2; p.Window >= seats {
		p.Window = 0
	}
}

// NotTaken: an answer found no bot, though there was a seat for it, or a socket could not
// be opened.
func (p *Proof) NotTaken() { p.Missed, p.Window = p.Missed<<1|1, 1 }

// free is how many of the free seats count. While more was abandoned than the cap
// allows, a bot that missed one of the last answers is tried by one line at a time.
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
