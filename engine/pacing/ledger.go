package pacing

import "time"

// Period names the period of a ledger.
type Period string

const (
	PeriodRun    Period = "run"
	PeriodDay    Period = "day"    // calendar day in the campaign's zone
	Period30Days Period = "30_day" // successive 30-day periods
	periodNext   Period = "next"   // one that is about to begin
)

// Ledger counts over one period.
type Ledger struct {
	Period Period    `json:"period"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // zero means no known end
	Counts
}

// ThirtyDays is the length of the successive periods (16 CFR 310.4(b)(4)).
const ThirtyDays = 30 * 24 * time.Hour

// Books are the ledgers of one campaign. The run's ledger begins with NewBooks and again with
// Begin; day and 30-day period follow the clock.
type Books struct {
	Run    Ledger `json:"run"`
	Day    Ledger `json:"day"`
	Thirty Ledger `json:"thirty"`
}

// NewBooks begins the ledgers of a run. thirtySince is when the campaign's current 30-day period
// began (the campaign's first run, or a multiple of 30 days after it); dayUntil is the next
// midnight in the campaign's zone. The caller adds the counts of an earlier process, or of the
// day's earlier runs.
func NewBooks(now, dayUntil, thirtySince time.Time) Books {
	b := Books{
		Run:    Ledger{Period: PeriodRun, Since: now},
		Day:    Ledger{Period: PeriodDay, Since: now, Until: dayUntil},
		Thirty: Ledger{Period: Period30Days, Since: thirtySince, Until: thirtySince.Add(ThirtyDays)},
	}
	b.Roll(now, dayUntil)
	return b
}

// Begin starts the ledger of a new run; the other periods continue.
func (b *Books) Begin(at time.Time) { b.Run = Ledger{Period: PeriodRun, Since: at} }

// Roll starts new ledgers for periods that are over; nextMidnight is the first midnight in the
// campaign's zone after now. It says whether any began.
func (b *Books) Roll(now, nextMidnight time.Time) (began bool) {
	if !now.Before(b.Day.Until) {
		b.Day = Ledger{Period: PeriodDay, Since: b.Day.Until, Until: nextMidnight}
		began = true
	}
	for !now.Before(b.Thirty.Until) {
		b.Thirty = Ledger{Period: Period30Days, Since: b.Thirty.Until, Until: b.Thirty.Until.Add(ThirtyDays)}
		began = true
	}
	return began
}

// Served counts a live answer that a bot serves.
func (b *Books) Served() { b.each(func(c *Counts) { c.Live++ }) }

// Abandoned counts a live answer that no bot served in time.
func (b *Books) Abandoned() { b.each(func(c *Counts) { c.Live++; c.Abandoned++ }) }

// Lost counts an abandon caused by a loss of our capacity; it counts like any other, and is shown
// separately.
func (b *Books) Lost() { b.each(func(c *Counts) { c.Live++; c.Abandoned++; c.CapacityLoss++ }) }

// Machine counts a call that was judged not to be a person.
func (b *Books) Machine() { b.each(func(c *Counts) { c.Machines++ }) }

func (b *Books) each(f func(*Counts)) {
	for _, l := range b.All() {
		f(&l.Counts)
	}
}

// All returns the ledgers, the shortest period first.
func (b *Books) All() [3]*Ledger { return [3]*Ledger{&b.Run, &b.Day, &b.Thirty} }

// Active appends the ledgers that apply to a dial placed at now to dst. lead is how long a line may
// take until it is over for the rate (ring timeout, wait and some reserve): if a period ends before
// that, an empty ledger stands for the next one, which has no credit yet.
func (b *Books) Active(now time.Time, lead time.Duration, dst []Ledger) []Ledger {
	dst = append(dst, b.Run, b.Day, b.Thirty)
	end := b.Day.Until
	if b.Thirty.Until.Before(end) {
		end = b.Thirty.Until
	}
	if !now.Add(lead).Before(end) {
		dst = append(dst, Ledger{Period: periodNext, Since: end})
	}
	return dst
}
