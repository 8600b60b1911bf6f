package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/frequency"
	"dialler/engine/pacing"
)

// Installation is the equipment that campaigns are dialled with, the people called, and the faults
// that happen meanwhile. Zero values get the defaults of WithDefaults.
type Installation struct {
	Start  time.Time
	Length time.Duration // the world ends then, whatever is still in progress
	// People says how callees answer, talk and fail; its workers, cap, wait and length are not used
	// here.
	People callee.Scenario
	// Answers, if set, is the chance that a number answers at a time, instead of that of People.
	Answers func(engine.PhoneNumber, time.Time) float64
	// Measured replaces People if it is given; of Bot only Connect and Fails are then used.
	Measured  *callee.People
	Seats     int // of the one bot
	Trunks    []TrunkPlan
	Numbers   []engine.NumberSettings // every number of every pool
	Campaigns []CampaignPlan
	Bot       callee.Bot
	// Commit is how long a write takes to become durable.
	Commit time.Duration
	Faults []Fault
	// Timed is the share of people with times of their own, from Start on (0…1).
	Timed float64
	// Several is the share of people with several numbers, of which some are their neighbours' too (0…1).
	Several float64
	// CallsBack is the chance that whoever is called calls our number, later or while we call (0…1).
	CallsBack float64
	// Cadences are those that the campaigns may name.
	Cadences []cadence.Named
	// Calendars are those that the campaigns may name.
	Calendars []calendar.Named
	// Prefixes are the prefixes of the contacts' numbers, used in turn; seven digits follow.
	Prefixes []string
	// Large campaigns keep no ended attempts, so that only the contact counts are recounted for
	// comparison.
	Large bool
	// LookAhead is how many due contacts a run holds in memory.
	LookAhead int
	// EventsMost ends the world after that many events; 0 leaves that to Length.
	EventsMost int
	// Halt, if set, is asked after every haltEvery events whether to end the world. It may take as
	// long as the caller likes.
	Halt func() bool
	// Watch, if set, is told how the first campaign proceeds.
	Watch func(*Stretch)
	// Unjudged worlds continue when an invariant is violated.
	Unjudged bool
	// CalleeLimits is how often one number may be called, over all campaigns.
	CalleeLimits []frequency.Limit
	// Clock, if set, returns a time whose wall clock and monotonic clock differ by the steps of the
	// wall clock; without it, durations change with a step.
	Clock func(wall time.Time, monotonic time.Duration) time.Time
}

// start is the default start of an installation.
var start = time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)

const haltEvery = 512

// TrunkPlan is a trunk, and what its carrier accepts.
type TrunkPlan struct {
	Settings engine.TrunkSettings
	// CarrierCPS is the rate beyond which the carrier answers 503 with the limit in its text; 0
	// means no limit of its own.
	CarrierCPS int
	// Refuses is the share of calls that the network refuses with 503 (0…1).
	Refuses float64
}

// CampaignPlan is one campaign: its settings, its list, and what operators and API clients do to
// it.
type CampaignPlan struct {
	Settings campaign.Settings
	Contacts int // in the list, numbered from First
	First    int // overlapping lists share numbers
	// Standing, if set, is where the run resumes: its remaining contacts, Contacts in number, are
	// the list.
	Standing *campaign.Position
	Acts     []PlannedAct
}

// PlannedAct happens at a given time after the start.
type PlannedAct struct {
	At time.Duration
	// Exactly one of these; contacts by their number, counted from 1.
	Action   campaign.Action // a lifecycle command
	Edit     *CampaignEdit   // of a draft, or while it is paused
	Add      int             // contacts added after those of the list
	Import   int             // contacts of an import, likewise
	Trigger  int             // the contact that is triggered
	Exclude  int             // the contact that is excluded
	Segment  int             // contacts whose variable "segment" has this value are excluded
	Lift     int             // the contact whose exclusion is lifted
	Erase    int             // the person who is erased, in all campaigns
	Suppress int             // the person whose number goes on the suppression list
	CallNow  int             // the contact that an operator wants called now
	CallBack int             // … or in ten minutes
	// Calendars take the place of the installation's.
	Calendars []calendar.Named

	Keyed bool // of Trigger: with an Idempotency-Key
	// NotBefore and Expires, of Trigger, are times after it; 0 is not said.
	NotBefore time.Duration
	Expires   time.Duration
	Unreached bool // of a restart: only those whom no call has reached
}

// CampaignEdit changes settings; zero values leave a setting unchanged.
type CampaignEdit struct{ MaxAttempts, RetryDelaySec, Concurrency int }

func (e *CampaignEdit) apply(s *campaign.Settings) {
	s.MaxAttempts, s.RetryDelaySec = cmp.Or(e.MaxAttempts, s.MaxAttempts), cmp.Or(e.RetryDelaySec, s.RetryDelaySec)
	s.Concurrency = cmp.Or(e.Concurrency, s.Concurrency)
}

// FaultKind is a kind of fault.
type FaultKind string

const (
	FaultTrunkDown    FaultKind = "trunk_down"    // no response from the carrier
	FaultTrunkRefuses FaultKind = "trunk_refuses" // connection refused: nothing leaves
	FaultSeats        FaultKind = "seats"         // the bot has only Value seats
	FaultBot          FaultKind = "bot_away"      // it takes no calls, and drops those that it has
	FaultDatabase     FaultKind = "database_away"
	FaultCrash        FaultKind = "crash"      // of the process; it is back after Length
	FaultClock        FaultKind = "clock_step" // the wall clock jumps by Value seconds
	FaultSlowCommit   FaultKind = "slow_commit"
	FaultRunCrash     FaultKind = "run_crash"     // of the actor of one campaign's run
	FaultContactCrash FaultKind = "contact_crash" // of a contact's actor: the Value-th, or the next with a call
	FaultCallInCrash  FaultKind = "call_in_crash" // of the Value-th call's actor that came in
	FaultHandOver     FaultKind = "hand_over"     // another owner takes over the campaign after Length
)

// Fault begins at At and lasts for Length.
type Fault struct {
	Kind   FaultKind
	At     time.Duration
	Length time.Duration
	Trunk  int // index
	Value  int

	Campaign int // index
}

// WithDefaults fills in the defaults.
func (in Installation) WithDefaults() Installation {
	if in.Start.IsZero() {
		in.Start = start
	}
	in.Length = cmp.Or(in.Length, 24*time.Hour)
	if in.People.Answer.Base == 0 && len(in.People.Answer.Steps) == 0 {
		in.People = callee.Standard()
	}
	if in.Seats == 0 {
		for i := range in.Campaigns {
			in.Seats = max(in.Seats, in.Campaigns[i].Settings.Concurrency)
		}
	}
	if len(in.Trunks) == 0 {
		in.Trunks = []TrunkPlan{{Settings: engine.TrunkSettings{ID: "trunk-1", CPSCap: 500, ChannelCap: 100_000,
			Active: true}}}
	}
	if len(in.Numbers) == 0 {
		for i := range in.Campaigns {
			for _, n := range in.Campaigns[i].Settings.Numbers {
				s := engine.NumberSettings{Number: n, State: "active"}
				if !slices.Contains(in.Numbers, s) {
					in.Numbers = append(in.Numbers, s)
				}
			}
		}
	}
	if len(in.Prefixes) == 0 {
		in.Prefixes = []string{"+49151"}
	}
	in.Commit, in.Bot.Connect = cmp.Or(in.Commit, 3*time.Millisecond), cmp.Or(in.Bot.Connect, 80*time.Millisecond)
	if len(in.Bot.Dispositions) == 0 {
		in.Bot.Dispositions = []string{"done"}
	}
	return in
}

// CampaignResult is the result of one campaign.
type CampaignResult struct {
	ID               engine.CampaignID
	State            campaign.State
	CompletionReason campaign.CompletionReason
	FailureReason    string
	Run              int
	Counters         campaign.Counters // of the last run that began
	Counts           pacing.Counts     // of that run, as the cap sees them
	Dials            int               // INVITEs that left, of all runs
	Started          time.Duration     // of that run, since the world's start
	Ended            time.Duration     // when it completed, else the world's end
	Work
	Constraint engine.Constraint // of the last decision
	// Open is how many contacts were not final at the end, LeftAtClose how many were not final when
	// the window first closed, -1 if it did not close.
	Open, LeftAtClose int
}

// Stretch is a period in which a campaign's state did not change.
type Stretch struct {
	From, Until time.Duration
	Pace        Pace
	*Progress   // at its end; nil while no process runs it
}

// Pace is a campaign's current activity.
type Pace struct {
	Open        bool // running, within its window
	Seats, Used int
}

// Work is the work done at that pace in a period.
func (p Pace) Work(d time.Duration) Work {
	if !p.Open {
		return Work{}
	}
	return Work{Dialling: d, Busy: time.Duration(p.Used) * d, Workers: time.Duration(max(p.Seats, p.Used)) * d}
}

// Work is the work that a campaign did in a period.
type Work struct {
	// Dialling is how long the campaign was running within its window.
	Dialling time.Duration
	// Busy is the time in calls, summed over workers; Workers is the maximum possible: the seats
	// that the campaign had while it was dialling.
	Busy, Workers time.Duration
}

// Add adds more to w.
func (w *Work) Add(more Work) {
	w.Dialling, w.Busy, w.Workers = w.Dialling+more.Dialling, w.Busy+more.Busy, w.Workers+more.Workers
}

// Progress is what a campaign has done since its start.
type Progress struct {
	Dials  int
	Counts pacing.Counts
	Left   int // contacts that are not final
}

// ConnectsPerHour is how many persons were served per hour of dialling.
func (r *CampaignResult) ConnectsPerHour() float64 {
	if r.Dialling <= 0 {
		return 0
	}
	return float64(r.Counters.ConnectedCalls) / r.Dialling.Hours()
}

// Utilisation is the share of the workers' time that was spent in calls.
func (r *CampaignResult) Utilisation() float64 {
	if r.Workers <= 0 {
		return 0
	}
	return float64(r.Busy) / float64(r.Workers)
}

// CampaignsResult is the result of an installation's campaigns.
type CampaignsResult struct {
	Seed      uint64
	Campaigns []CampaignResult
	Ended     time.Duration // when nothing was left to happen, at most the Length
	Crashes   int
	Events    int  // that happened
	Halted    bool // Halt ended it
	Spent     bool // EventsMost did
	// Broken is the first violated invariant; nil if there is none.
	Broken *Broken
}

// Broken is a violated invariant.
type Broken struct {
	Seed     uint64
	At       time.Duration
	Campaign engine.CampaignID
	What     string
	Trace    []string // what happened last
}

func (b *Broken) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d at %s, %s: %s", b.Seed, b.At, b.Campaign, b.What)
	for _, t := range b.Trace {
		s.WriteString("\n  " + t)
	}
	return s.String()
}
