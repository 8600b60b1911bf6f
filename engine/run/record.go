package run

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// Config is the process-wide configuration of runs.
type Config struct {
	Tick      time.Duration // interval of the periodic checks
	Reconcile time.Duration // interval of comparisons with the open attempts in the database
	SendBy    time.Duration // how long after its intent an INVITE may still leave
	LookAhead int           // number of due contacts held in memory
	OptOut    byte          // the key by which a person who hears the information message opts out; 0 means none
	Shared    bool          // other nodes use the same bots
}

// Record is what is durable of the campaign, as this life knows it: its row and counters,
// what is written next, and the contacts that are up. Only here does the campaign's
// sequence go on.
type Record struct {
	Turn
	ID     engine.CampaignID
	Config Config
	Ready  bool  // it is loaded
	Absent error // why this node cannot act for the campaign; nil means that it does not exist
	// Replaced says that the database refused a write as a former owner's: nothing written since may be there.
	Replaced bool

	M     campaign.Machine
	Tally *tally.Tally
	Bot   engine.Bot
	// Cadences are the configured ones: the campaign may be given another at any time.
	Cadences []cadence.Named
	Hours    besthour.Table // at which people answer
	rules    *call.Rules    `snapshot:"-"` // derived from M, Bot and Cadences
	Rates    Rates
	Sweep    *Sweep
	Ticking  bool

	Lines    map[engine.ContactID]*Line
	ByNumber map[engine.PhoneNumber]engine.ContactID // of the lines
	Phases   [len(phaseOrder)]int                    // lines by phase
}

// Sweep is a write to all contacts that is under way.
type Sweep struct {
	Seq     int64 // of its event
	Waiting []engine.Request
}

// over says whether the run has ended, and its waiting contacts with it.
func (s *Record) over() bool { return s.rules != nil && s.rules.Policy.ClosedAs != "" }

// bulkEvent numbers an event of the run in the sequence, for a store that writes it.
func (s *Record) bulkEvent(t journal.Type, at time.Time) journal.Event {
	s.M.C.Seq++
	return journal.Event{Campaign: s.ID, Seq: s.M.C.Seq, Run: s.M.C.Run, At: at, Type: t, Version: 1}
}

func (s *Record) send(l *Line, msg any) {
	if !l.Up || l.Stopping {
		l.Buffer = append(l.Buffer, msg)
		return
	}
	s.emit(Tell{l.ID, msg})
}

func (s *Record) flush(l *Line) {
	buffer := l.Buffer
	l.Buffer = nil
	for _, msg := range buffer {
		s.send(l, msg)
	}
}

// order is the current order of the campaign's due contacts.
func (s *Record) order() contact.Order { return s.M.C.Order(s.now) }

func (s *Record) broadcast(msg any) {
	for _, l := range s.linesInOrder() {
		s.send(l, msg)
	}
}

func (s *Record) startTicking() {
	if s.Ticking || !s.needsTick() {
		return
	}
	s.Ticking = true
	s.arm(TimerTick, s.Config.Tick, Deferred{Event: &tick{}})
}

// needsTick says whether ticks are needed: a campaign that has ended still ticks while a call is
// live or a result is awaited.
func (s *Record) needsTick() bool {
	return s.M.C.State == campaign.Running || s.M.C.State == campaign.Paused || len(s.Lines) > 0 ||
		s.Tally != nil && s.Tally.C.States[contact.Connected] > 0
}

// makeRules derives the contacts' rules from the settings, within the calendars.
func (s *Record) makeRules() {
	s.M.C.Narrow(s.M.Calendars)
	rules := call.RulesOf(s.M.C)
	rules.Bot, rules.Attempt.OptOut = s.Bot, s.Config.OptOut
	rules.Policy.Cadence = cadence.Find(s.Cadences, s.M.C.Settings.Cadence).Table()
	s.rules = &rules
}

// toldAhead is how far the counters are ahead of the ledgers; negative when behind.
func (s *Record) toldAhead() (c pacing.Counts) {
	for _, l := range s.Lines {
		c.Live += l.Told.Live - l.Ledger.Live
		c.Abandoned += l.Told.Abandoned - l.Ledger.Abandoned
		c.CapacityLoss += l.Told.CapacityLoss - l.Ledger.CapacityLoss
	}
	return c
}

// lineOf is the line to a number, nil when there is none.
func (s *Record) lineOf(n engine.PhoneNumber) *Line { return s.Lines[s.ByNumber[n]] }

// engagedLines counts the lines with a live attempt.
func (s *Record) engagedLines() int {
	return len(s.Lines) - s.Phases[phaseIndex(attempt.PhaseOver)]
}

// linesInOrder lists the lines, always in the same order.
func (s *Record) linesInOrder() []*Line {
	list := make([]*Line, 0, len(s.Lines))
	for _, l := range s.Lines {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *Line) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// setPool gives the pool its numbers.
func (s *Record) setPool() {
	c := &s.M.C.Settings
	s.emit(SetPool{Numbers: c.Numbers, LocalMatch: c.LocalMatch})
}
