package pacing

import (
	"fmt"
	"strings"
	"time"

	"dialler/engine"
)

// Mode says how the abandon cap is kept.
type Mode string

const (
	// Strict keeps A ≤ c·L after every event.
	Strict Mode = "strict"
	// Hybrid keeps it at the end of the period, with statistical certainty: before that, it may be
	// exceeded by what the rest of the period will certainly make up for.
	Hybrid Mode = "hybrid"
	// Progressive places no dial without a free worker of its own.
	Progressive Mode = "progressive"
)

// Unlimited stands for a limit that does not bind.
const Unlimited = int(^uint(0) >> 1)

// Input is the state of one campaign at one moment.
type Input struct {
	Mode Mode // anything but Strict and Hybrid is treated as Progressive

	// Flags that stop all dialling.
	Paused        bool
	OutsideWindow bool
	DatabaseAway  bool // intents cannot be made durable
	Draining      bool // this node takes no new calls
	Fenced        bool // this node's lease expired: another may have taken over
	KeeperAway    bool // the node that counts the bot's seats does not answer
	Overload      bool // the dialler is late with the calls it has (Brake)

	// Workers and lines.
	Concurrency int // the campaign's own limit of simultaneous calls with a seat
	Seats       int // its allotment from the fleet
	Busy        int // workers in a call, screening with a seat included
	Ringing     int // r: lines placed and neither ended nor answered, including listening ones (sequential AMD)
	Waiting     int // w: answered calls that wait for a worker
	// Held are ringing lines that already hold a worker: they are in Busy, not in Ringing.
	Held int
	// Proof is the bot's recent record; the zero value trusts every seat. Unserved are workers in
	// Busy whose answered call has no bot yet.
	Proof    Proof
	Unserved int
	// Sockets says that the bot has sockets that may be opened before the calls that take them;
	// Standing of them are open. Bare are workers in Busy whose answered call found no open socket,
	// so that its bot may still miss it. Withdrawn lines are being cancelled. Kept are the workers
	// that lines in flight may use, including those taken away since.
	Sockets                         bool
	Standing, Bare, Withdrawn, Kept int

	// The abandon cap.
	CapPPM  int      // c, parts per million
	PhiPPM  int      // φ, share of machines that were persons
	Ledgers []Ledger // the strictest one decides; none means no credit

	// Limits of the dialling resources.
	LineCap         int               // most lines ringing at once, 0 = no cap of its own
	TrunkTokens     int               // legs that trunks would grant now
	TrunkConstraint engine.Constraint // why not more: trunk_cps, trunk_channels or trunk_health
	NumberSlots     int               // dials that the number pool would carry now
	DueContacts     int               // contacts that may be dialled now
	LaterContacts   int               // contacts that wait for a retry delay or a callback
	// SeatedOnly is how many of the due contacts may only be dialled with a worker held.
	SeatedOnly int

	// Model says how many lines are worth their risk. Without one the gate allows at most one line
	// beyond the free workers for every worker, and Hybrid behaves like Strict.
	Model *Model
	// For Hybrid, Left is the time until dialling ends (the window, or the day), and DialsLeft is
	// how many dials the list still holds.
	Left      time.Duration
	DialsLeft int
}

// Decision says how many dials to place now.
type Decision struct {
	Dials int
	// Seated is how many of them have a free worker of their own: numbers abandoned within the last
	// 72 h may only be among these.
	Seated int
	// Sockets is how many sockets of the bot should be open now: for the lines in flight, and for
	// those that could then be dialled.
	Sockets int
	// Constraint is the one thing that kept Dials from being larger.
	Constraint engine.Constraint
	Why        Explanation
}

// Explanation contains the numbers behind a decision.
type Explanation struct {
	Workers int `json:"workers"` // N = min(concurrency, seats)
	Busy    int `json:"busy"`
	Free    int `json:"free"` // f, negative after seats were taken away
	// Unproven workers count for no dial: their bot missed answers recently, or its socket is not
	// open yet.
	Unproven int `json:"unproven,omitempty"`
	Ringing  int `json:"ringing"` // r
	Waiting  int `json:"waiting"` // w
	Credit   int `json:"credit"`  // ⌊B⌋ of the strictest ledger
	Overdial int `json:"overdial"`
	// Period, Live and Abandoned belong to the strictest ledger.
	Period    Period `json:"period,omitempty"`
	Live      int    `json:"live"`
	Abandoned int    `json:"abandoned"`
	CapPPM    int    `json:"cap_ppm"`
	// Limit is how many dials the binding constraint allowed.
	Limit int `json:"limit"`
	// Forecast says that credit is not short, but that one more line would too often be answered
	// without a free worker: Risk is the share of such answers, the line's own and those it
	// displaces, Theta the most that is allowed.
	Forecast bool    `json:"forecast,omitempty"`
	Risk     float64 `json:"risk,omitempty"`
	Theta    float64 `json:"theta,omitempty"`

	surplus int64 // of the strictest ledger, in millionths
}

// Decide says how many dials to place now, and why not more. It is a function of its input and the
// model's state; the counts of its input must be updated by the same actor that places the dials,
// after each of them.
func Decide(in *Input) Decision {
	d := Decision{Why: count(in)}
	w := &d.Why
	governed := in.governed(w)
	if c := stopped(in); c != engine.ConstraintNone {
		d.Constraint = c
		if governed {
			d.Sockets = in.socketsFor(w, 0)
		}
		return d
	}
	covered := w.Free - in.Ringing - in.Waiting // dials with a free worker of their own
	others, other := resources(in)
	if in.Model != nil {
		in.Model.overdial(in, w, covered, others)
	} else if in.Mode == Strict || in.Mode == Hybrid {
		w.Overdial = min(w.Credit, w.Workers)
	}
	covered -= w.Unproven
	limit, why := covered+w.Overdial, gateConstraint(in, w)
	// "Nobody is due" is the clearest answer: it wins a tie at zero.
	if others < limit || in.DueContacts <= 0 && limit >= 0 {
		limit, why = others, other
		w.Forecast = false
	}
	if n := in.SeatedOnly; n > 0 {
		if most := in.DueContacts - n + min(n, max(covered, 0)); most < limit {
			limit, why = most, workersConstraint(in)
			w.Forecast = false
		}
	}
	if governed {
		d.Sockets = in.socketsFor(w, max(limit, 0))
		if room := in.socketRoom(w); room < limit {
			w.Unproven, w.Forecast = limit-max(room, 0), false
			limit, why = room, engine.ConstraintSeats
		}
	}
	d.Dials = max(limit, 0)
	d.Seated = min(d.Dials, max(covered, 0))
	d.Constraint = why
	w.Limit = d.Dials
	return d
}

// stopped returns the first flag that forbids every dial, the operator's own wish first.
func stopped(in *Input) engine.Constraint {
	switch {
	case in.Paused:
		return engine.ConstraintPaused
	case in.OutsideWindow:
		return engine.ConstraintWindow
	case in.Draining:
		return engine.ConstraintNodeDraining
	case in.DatabaseAway:
		return engine.ConstraintDatabase
	case in.Fenced: // after the database, without which no lease can be renewed
		return engine.ConstraintNodeFenced
	case in.KeeperAway:
		return engine.ConstraintKeeperAway
	case in.Overload:
		return engine.ConstraintOverload
	}
	return engine.ConstraintNone
}

// resources is how many dials lines, trunks, numbers and contacts allow.
func resources(in *Input) (limit int, why engine.Constraint) {
	limit = Unlimited
	bind := func(n int, c engine.Constraint) {
		if n < limit {
			limit, why = n, c
		}
	}
	due := engine.ConstraintNoDueContacts
	if in.LaterContacts > 0 {
		due = engine.ConstraintRetryDelay
	}
	if in.DueContacts <= 0 {
		bind(0, due)
	}
	if in.LineCap > 0 {
		bind(in.LineCap-in.Ringing-in.Held, engine.ConstraintMaxLines)
	}
	trunk := in.TrunkConstraint
	if trunk == engine.ConstraintNone {
		trunk = engine.ConstraintTrunkCPS
	}
	bind(in.TrunkTokens, trunk)
	bind(in.NumberSlots, engine.ConstraintNumberPool)
	bind(in.DueContacts, due)
	return limit, why
}

// Parts implements snapshot.Parts.
func (e *Explanation) Parts() []any { return []any{&e.surplus} }

// count computes free workers and credit.
func count(in *Input) Explanation {
	w := Explanation{
		Workers: max(min(in.Concurrency, in.Seats), 0),
		Busy:    in.Busy, Ringing: in.Ringing, Waiting: in.Waiting,
		CapPPM: clampPPM(in.CapPPM, capLimitPPM),
	}
	w.Free = w.Workers - in.Busy
	for i := range in.Ledgers {
		l := &in.Ledgers[i]
		if s := l.surplus(in.CapPPM, in.PhiPPM); i == 0 || s < w.surplus {
			w.surplus, w.Credit = s, l.Credit(in.CapPPM, in.PhiPPM)
			w.Period, w.Live, w.Abandoned = l.Period, l.Live, l.Abandoned
		}
	}
	if !in.governed(&w) {
		trying := w.Free + in.Held + in.Unserved // lines that ring or wait with a worker use up proof as well
		w.Unproven = trying - in.Proof.free(trying, w.surplus < 0)
	}
	return w
}

// gateConstraint names what limits the gate. That is workers, of the campaign's own limit or of the
// fleet, or their proof. It is credit if lines beyond the free workers hold all of it, or if more
// was abandoned than the cap allows while workers are free. A forecast that forbids more lines
// means that workers are short.
func gateConstraint(in *Input, w *Explanation) engine.Constraint {
	switch {
	case w.Unproven > 0:
		return engine.ConstraintSeats
	case in.Mode != Strict && in.Mode != Hybrid, w.CapPPM == 0, w.Workers == 0, in.Model == nil && w.Overdial < w.Credit:
	case w.surplus < 0 && w.Free > 0, w.Overdial > 0 && !w.Forecast:
		return engine.ConstraintAbandonCredit
	}
	return workersConstraint(in)
}

// workersConstraint says which limit of workers binds: the fleet's, or the campaign's own.
func workersConstraint(in *Input) engine.Constraint {
	if in.Seats < in.Concurrency && in.Busy < in.Concurrency {
		return engine.ConstraintSeats
	}
	return engine.ConstraintConcurrency
}

// Held is how many lines have no free worker of their own: as many people would be abandoned if all
// lines were answered now.
func (e Explanation) Held() int { return max(e.Ringing+e.Waiting-max(e.Free, 0), 0) }

// Percent writes parts per million as per cent, without a rounding.
func Percent(ppm int) string {
	s := fmt.Sprintf("%d.%04d", ppm/10_000, ppm%10_000)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
