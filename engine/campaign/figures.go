package campaign

import (
	"strconv"
	"strings"
	"time"

	"dialler/engine/pacing"
)

// Indicator is the live activity indicator of the specification.
type Indicator string

const (
	IndicatorLive    Indicator = "live"
	IndicatorIdle    Indicator = "idle" // nothing dialled for IdleAfter: waiting for retries
	IndicatorOutside Indicator = "outside_window"
	IndicatorStopped Indicator = "stopped" // an outage: no trunk, no bot, no database; Live.Constraint says which
	IndicatorPaused  Indicator = "paused"
	IndicatorNone    Indicator = "none" // neither running nor paused
)

// IdleAfter is how long a dialler without dials takes to be called idle.
const IdleAfter = 30 * time.Second

// Indicate says what a campaign is doing: the operator's decision comes first, then the window,
// then the dials.
func Indicate(s State, windowOpen bool, lastDial, now time.Time) Indicator {
	switch {
	case s == Paused:
		return IndicatorPaused
	case s != Running:
		return IndicatorNone
	case !windowOpen:
		return IndicatorOutside
	case lastDial.IsZero() || now.Sub(lastDial) > IdleAfter:
		return IndicatorIdle
	}
	return IndicatorLive
}

// Standing names the state of a campaign that has not started, or is over: why it is not dialling.
func (c *Campaign) Standing() string {
	switch {
	case c.State == Draft && c.Prepared:
		return "run " + strconv.Itoa(c.Run) + " is prepared; dialling begins with Start"
	case c.State == Draft:
		return "the campaign is a draft; dialling begins with Start"
	case c.State == Failed, c.State == Completed && c.FailureReason != "":
		return "the run failed: " + c.FailureReason
	case c.State == Completed:
		return "the campaign is completed: " + strings.ReplaceAll(string(c.CompletionReason), "_", " ")
	}
	return ""
}

// CountsView counts live answers and their fate.
type CountsView struct {
	LiveAnswers  int `json:"live_answers"` // served and abandoned
	Abandoned    int `json:"abandoned"`
	CapacityLoss int `json:"capacity_loss"` // of the abandoned
	Machines     int `json:"machines"`
	// AbandonRate is Abandoned / LiveAnswers, nil before the first.
	AbandonRate *float64 `json:"abandon_rate"`
}

// ViewCounts shows counts.
func ViewCounts(c pacing.Counts) CountsView {
	v := CountsView{LiveAnswers: c.Live, Abandoned: c.Abandoned, CapacityLoss: c.CapacityLoss, Machines: c.Machines}
	if rate, ok := c.Rate(); ok {
		v.AbandonRate = &rate
	}
	return v
}

// LedgerView is one period in which the abandon cap is kept.
type LedgerView struct {
	Period pacing.Period `json:"period"`
	Since  time.Time     `json:"since"`
	Until  *time.Time    `json:"until"` // nil means the end of the run
	CountsView
	// Credit is how many more calls could be abandoned at once within the cap; CreditAfter is how
	// many live answers without an abandon earn one more, 0 when the cap is 0.
	Credit      int `json:"credit"`
	CreditAfter int `json:"credit_after"`
	// Binding says that this ledger is why a line without a free worker waits.
	Binding bool `json:"binding"`
}

// ViewLedger shows a ledger under the campaign's cap, with the counts to be displayed.
func ViewLedger(l *pacing.Ledger, shown pacing.Counts, s *Settings) LedgerView {
	v := LedgerView{Period: l.Period, Since: l.Since, CountsView: ViewCounts(shown),
		Credit:      l.Credit(s.AbandonCapPPM, s.FalsePositivePPM),
		CreditAfter: l.AnswersToCredit(s.AbandonCapPPM, s.FalsePositivePPM)}
	if !l.Until.IsZero() {
		until := l.Until
		v.Until = &until
	}
	return v
}

// MarkStrictest marks the ledger that leaves the least room; among equal ones, the longest.
func MarkStrictest(list []LedgerView) {
	var least *LedgerView
	for i := range list {
		if l := &list[i]; least == nil || l.Credit < least.Credit ||
			l.Credit == least.Credit && l.CreditAfter >= least.CreditAfter {
			least = l
		}
	}
	if least != nil {
		least.Binding = true
	}
}

// Rolling are the counts of the last 24 hours and 30 days, by whole hours: shown without a
// guarantee.
type Rolling struct {
	Day   CountsView `json:"hours_24"`
	Month CountsView `json:"days_30"`
}

// Totals are the rates of a finished run over its dialling time: the time in which it was running
// inside its window.
type Totals struct {
	Connected        int      `json:"total_connected"` // contacts
	DiallingSeconds  float64  `json:"dialling_s"`
	DialsPerSec      *float64 `json:"dials_per_s"`     // consumed attempts
	ConnectedPerHour *float64 `json:"connected_per_h"` // connected calls
	CallsPerMinute   *float64 `json:"calls_per_min"`   // consumed attempts: a call is an attempt
}

// TotalsOf returns the totals of a completed or failed campaign, otherwise nil.
func TotalsOf(c *Campaign, n *Counters) *Totals {
	if c.State != Completed && c.State != Failed {
		return nil
	}
	t := &Totals{Connected: n.Connected, DiallingSeconds: c.Dialled.Seconds()}
	per := func(count int, unit time.Duration) *float64 {
		if c.Dialled <= 0 {
			return nil
		}
		r := float64(count) * unit.Seconds() / c.Dialled.Seconds()
		return &r
	}
	t.DialsPerSec, t.ConnectedPerHour, t.CallsPerMinute = per(n.Attempts, time.Second), per(n.ConnectedCalls,
		time.Hour), per(n.Attempts, time.Minute)
	return t
}
