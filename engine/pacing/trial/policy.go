package trial

import (
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing"
)

// Policy is a way of pacing.
type Policy string

const (
	Progressive Policy = "progressive" // one line for every free worker
	Ratio       Policy = "ratio"       // lines and calls are a fixed multiple of the workers
	Strict      Policy = "strict"      // engine/pacing in that mode
	Hybrid      Policy = "hybrid"      //
	Clairvoyant Policy = "clairvoyant" // the upper bound; computed, not played
)

// Policies lists the policies in the order of their reports.
var Policies = []Policy{Progressive, Ratio, Strict, Hybrid, Clairvoyant}

// pacer is a policy in use. It is told what happens and says how many dials to place now.
type pacer interface {
	Dialled(now time.Time)
	Answered(now time.Time, age time.Duration)
	Failed(now time.Time, age time.Duration)
	Seated(now time.Time)
	Ended(now time.Time, held time.Duration)
	Served()
	Abandoned()
	Machine()
	Tick(now time.Time)
	dials(now time.Duration, s *standing) int
}

// standing is the current state of the campaign.
type standing struct {
	workers, busy, ringing, waiting int
	persons                         int // among the busy
	contacts                        int // not yet dialled, if the list is finite
	counts                          pacing.Counts
}

// modelled is engine/pacing, fed as the run actor feeds it.
type modelled struct {
	*pacing.Model
	in      pacing.Input
	ledgers [1]pacing.Ledger
	length  time.Duration
	list    bool // the list is finite
}

// tick is the interval at which a run reviews its pacing.
const tick = 500 * time.Millisecond

// start is the start of every simulated day.
var start = time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)

func newModelled(sc *callee.Scenario, mode pacing.Mode) *modelled {
	p := &modelled{length: sc.Length, list: sc.Contacts > 0, Model: pacing.NewModel(start, sc.Timeout, sc.Wait, nil)}
	p.ledgers[0] = pacing.Ledger{Period: pacing.PeriodRun, Since: start}
	p.in = pacing.Input{
		Mode: mode, CapPPM: sc.CapPPM(), Ledgers: p.ledgers[:], Model: p.Model, TrunkTokens: pacing.Unlimited,
		NumberSlots: pacing.Unlimited, DueContacts: pacing.Unlimited, DialsLeft: pacing.Unlimited,
	}
	return p
}

func (p *modelled) dials(now time.Duration, s *standing) int {
	p.in.Concurrency, p.in.Seats = s.workers, s.workers
	p.in.Busy, p.in.Ringing, p.in.Waiting = s.busy, s.ringing, s.waiting
	p.ledgers[0].Counts = s.counts
	p.in.Left = p.length - now
	if p.list {
		p.in.DueContacts, p.in.DialsLeft = s.contacts, s.contacts
	}
	return pacing.Decide(&p.in).Dials
}

// ratio keeps lines and calls at a multiple of the workers, whatever the model learns.
type ratio struct {
	*modelled
	of float64
}

func newRatio(sc *callee.Scenario, of float64) ratio {
	return ratio{newModelled(sc, pacing.Progressive), of}
}

func (r ratio) dials(_ time.Duration, s *standing) int {
	return int(r.of*float64(s.workers)) - s.busy - s.ringing - s.waiting
}
