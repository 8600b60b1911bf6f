package tally

import (
	"strings"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// Figure is one figure that users see, with its computation and its descriptions. The table counts
// rows and computes rates. The fold of events, and the SQL of counters, series and breakdown, are
// tested against it. The API's document, the console's labels and explanations, and docs/figures.md
// are generated from it.
type Figure struct {
	Of      Object // the object of the API's answers that contains it
	Name    string // there
	Label   string // on the console; "" if it has no label of its own there
	Unit    Unit
	Means   string // the console's explanation; "" means Formula
	Formula string // exactly
	// Part and Over are the figures, of the same object, whose quotient a share or a mean is.
	Part, Over string
	Period     Period
	// Hidden says that the console omits it while it is 0.
	Hidden bool
	// Inner says that it is not shown, but only used to compute others.
	Inner bool
	// Source is a sentence of the specification, or the page of docs, that defines it.
	Source string

	// Contact and Attempt say how much one contact, or one attempt of the run, contributes.
	Contact func(*contact.Facts) int
	Attempt func(*attempt.Attempt) int
	// At is where such a figure is counted; for a pass, in the pass of that number.
	At func(c *campaign.Counters, pass int) *int
	// rate is where a share or a mean is stored, and its two sides.
	rate func(c *campaign.Counters, pass int) (at **float64, part, over float64)
}

// Object is an object of the API's answers that contains figures, named like its schema.
type Object string

// The objects, in the order of the page.
const (
	OfCounters  Object = "Counters"
	OfPass      Object = "Pass"
	OfCallbacks Object = "Callbacks"
	OfTotals    Object = "Totals"
	OfLive      Object = "Live"
	OfLedger    Object = "AbandonCounts"
	OfSeries    Object = "Series"
	OfBreakdown Object = "Breakdown"
	OfNumber    Object = "NumberStatus"
)

// Unit is the unit of a figure.
type Unit string

// The units.
const (
	Contacts  Unit = "contacts"
	Calls     Unit = "calls"
	Lines     Unit = "lines"
	Workers   Unit = "workers"
	Callbacks Unit = "callbacks"
	Share     Unit = "share, 0…1"
	Seconds   Unit = "s"
	PerSecond Unit = "calls a second"
	PerMinute Unit = "calls a minute"
	PerHour   Unit = "calls an hour"
)

// Period is the period of a figure.
type Period string

// The periods.
const (
	Run      Period = "the run"
	Now      Period = "this moment"
	Minute   Period = "the last 60 s; since dialling began where that is less"
	Rings    Period = "the last 60 s"
	Dialling Period = "the run's dialling time: while it was running inside its window"
	Ledger   Period = "the ledger's: run, day or 30 days; the last 24 hours or 30 days"
	Step     Period = "a step of the series"
	LastEnds Period = "the number's last 64 ended calls, over all campaigns"
	LastHour Period = "the last 60 minutes, over all campaigns"
	LastDay  Period = "the last 24 hours, over all campaigns"
)

// Properties of an attempt used by more than one figure.

func answered(a *attempt.Attempt) bool { return a.AnsweredAt != nil }

// consumed says that it counts against Max Attempts, and is over.
func consumed(a *attempt.Attempt) bool { return a.Consumed && !a.Live() }

// decided says that it can no longer change whether it was answered. That excludes an attempt that
// does not count against Max Attempts, even if its INVITE left.
func decided(a *attempt.Attempt) bool { return answered(a) || consumed(a) }

func abandoned(a *attempt.Attempt) bool { return !a.Live() && a.Outcome == engine.OutcomeAbandoned }

// dialled says that its INVITE left, or may have.
func dialled(a *attempt.Attempt) bool { return a.InviteAt != nil || a.Consumed }

func when(is func(*attempt.Attempt) bool) func(*attempt.Attempt) int {
	return func(a *attempt.Attempt) int { return one(is(a)) }
}

func liveAnswers(a *attempt.Attempt) int { return one(a.WasConnected()) + one(abandoned(a)) }

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func live(f *contact.Facts) int { return one(f.Live) } // until it ends as unconsumed, its attempt counts

func ends(f *contact.Facts, as contact.Ends) int { return one((f.Ends|contact.EndOf(f.State))&as != 0) }

// run is the location of a figure without passes.
func run(at func(*campaign.Counters) *int) func(*campaign.Counters, int) *int {
	return func(c *campaign.Counters, _ int) *int { return at(c) }
}

// Figures are all figures, object by object.
var Figures = []Figure{
	{
		Of: OfCounters, Name: "total", Label: "Total", Unit: Contacts, Period: Run,
		Means: "All contacts.", Formula: "Contacts of the campaign.", Source: "| Total | All contacts. |",
		Contact: func(*contact.Facts) int { return 1 }, At: run(func(c *campaign.Counters) *int { return &c.Total }),
	}, {
		Of: OfCounters, Name: "pending", Label: "Pending", Unit: Contacts, Period: Run,
		Means:   "Contacts not yet attempted.",
		Formula: "Contacts without an attempt that counts or is live, neither final nor excluded.",
		Source:  "those without a consumed attempt and not final or excluded",
		Contact: func(f *contact.Facts) int { return one(f.Open && f.Used+live(f) == 0) },
		At:      run(func(c *campaign.Counters) *int { return &c.Pending }),
	}, {
		Of: OfCounters, Name: "connected", Label: "Connected", Unit: Contacts, Period: Run,
		Means: "Contacts whose call reached the bot.", Formula: "Contacts with at least one connected attempt.",
		Source:  "contacts with at least one connected attempt",
		Contact: func(f *contact.Facts) int { return one(f.Connected) },
		At:      run(func(c *campaign.Counters) *int { return &c.Connected }),
	}, {
		Of: OfCounters, Name: "completed", Label: "Completed", Unit: Contacts, Period: Run,
		Means:   "Contacts whose conversation finished and a result was stored.",
		Formula: "Contacts with a stored result.", Source: "contacts with a stored result",
		Contact: func(f *contact.Facts) int { return one(f.Result) },
		At:      run(func(c *campaign.Counters) *int { return &c.Completed }),
	}, {
		Of: OfCounters, Name: "unanswered", Label: "Unanswered", Unit: Contacts, Period: Run,
		Means:   "Contacts that rang and were not answered.",
		Formula: "Contacts whose last attempt rang and was not answered, even if failed now.",
		Source:  "contacts whose last attempt rang and was not answered, also if now `failed`",
		Contact: func(f *contact.Facts) int { return one(f.Unanswered) },
		At:      run(func(c *campaign.Counters) *int { return &c.Unanswered }),
	}, {
		Of: OfCounters, Name: "failed", Unit: Contacts, Period: Run,
		Formula: "Contacts that ended so in this run; an exclusion or fresh attempts afterwards change nothing, a late " +
			"result does. `states` counts those in this state now.",
		Source:  "They count facts of the run, not present states",
		Contact: func(f *contact.Facts) int { return ends(f, contact.EndFailed) },
		At:      run(func(c *campaign.Counters) *int { return &c.Failed }),
	}, {
		Of: OfCounters, Name: "excluded", Unit: Contacts, Period: Now, Formula: "Contacts in this state now.",
		Source:  "`excluded` is out of scope: not processed, not in the denominator of progress",
		Contact: func(f *contact.Facts) int { return one(f.State == contact.Excluded) },
		At:      run(func(c *campaign.Counters) *int { return &c.Excluded }),
	}, {
		Of: OfCounters, Name: "retries_left", Label: "Retries Left", Unit: Calls, Period: Run,
		Means:   "Attempts still available across the pool.",
		Formula: "Over contacts that may still be dialled, the sum of Max Attempts minus those that count or are live.",
		Source:  "Σ (max − used) over open contacts",
		Contact: func(f *contact.Facts) int { return one(f.Open) * max(0, f.Max-f.Used-live(f)) },
		At:      run(func(c *campaign.Counters) *int { return &c.RetriesLeft }),
	}, {
		Of: OfCounters, Name: "abandoned", Label: "Abandoned", Unit: Calls, Period: Run,
		Means: "Answered calls that found no free worker. They count toward the abandon rate.",
		Formula: "Answered calls that no worker served in time, whatever becomes of the contact afterwards: " +
			"live_answers − connected_calls.",
		Source: "Answered calls that found no free worker. Counts toward the abandon rate.", Attempt: when(abandoned),
	}, {
		Of: OfCounters, Name: "machine_detected", Label: "AMD Machine", Unit: Calls, Period: Run, Hidden: true,
		Means:   "Calls detected as an answering machine and torn down.",
		Formula: "Calls that ended as `machine`, whatever becomes of the contact afterwards.",
		Source:  "Calls detected as an answering machine and torn down.",
		Attempt: func(a *attempt.Attempt) int { return one(!a.Live() && a.Outcome == engine.OutcomeMachine) },
		At:      run(func(c *campaign.Counters) *int { return &c.MachineDetected }),
	}, {
		Of: OfCounters, Name: "window_closed", Label: "Window Closed", Unit: Contacts, Period: Run, Hidden: true,
		Means: "Contacts still waiting when the single-day calling window ended.",
		Formula: "Contacts that ended so in this run; an exclusion or fresh attempts afterwards change nothing, a late " +
			"result does.",
		Source:  "Contacts still waiting when a single-day calling window ended.",
		Contact: func(f *contact.Facts) int { return ends(f, contact.EndWindowClosed) },
		At:      run(func(c *campaign.Counters) *int { return &c.WindowClosed }),
	}, {
		Of: OfCounters, Name: "manually_stopped", Label: "Manually Stopped", Unit: Contacts, Period: Run, Hidden: true,
		Means: "Contacts still waiting when an operator stopped the campaign.",
		Formula: "Contacts that ended so in this run; an exclusion or fresh attempts afterwards change nothing, a late " +
			"result does.",
		Source:  "Contacts still waiting when an operator stopped the campaign.",
		Contact: func(f *contact.Facts) int { return ends(f, contact.EndManuallyStopped) },
		At:      run(func(c *campaign.Counters) *int { return &c.ManuallyStopped }),
	}, {
		Of: OfCounters, Name: "expired", Label: "Expired", Unit: Contacts, Period: Run, Hidden: true,
		Means: "Contacts that were not reached before the time until which they may be called.",
		Formula: "Contacts that ended so in this run; an exclusion or fresh attempts afterwards change nothing, a late " +
			"result does.",
		Source:  "docs/adr/0057-times-of-contacts.md",
		Contact: func(f *contact.Facts) int { return ends(f, contact.EndExpired) },
		At:      run(func(c *campaign.Counters) *int { return &c.Expired }),
	}, {
		Of: OfCounters, Name: "attempts", Unit: Calls, Period: Run,
		Formula: "Attempts that ended and count against Max Attempts.",
		Source:  "an attempt is consumed once its INVITE left",
		Attempt: when(consumed), At: run(func(c *campaign.Counters) *int { return &c.Attempts }),
	}, {
		Of: OfCounters, Name: "answered", Unit: Calls, Period: Run,
		Formula: "Answered attempts, including those under way.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same",
		Attempt: when(answered), At: run(func(c *campaign.Counters) *int { return &c.Answered }),
	}, {
		Of: OfCounters, Name: "decided", Unit: Calls, Period: Run,
		Formula: "Attempts that can no longer change: answered, or ended and counted against Max Attempts.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same",
		Attempt: when(decided), At: run(func(c *campaign.Counters) *int { return &c.Decided }),
	}, {
		Of: OfCounters, Name: "conversations", Unit: Calls, Period: Run,
		Formula: "Connected attempts that ended.", Source: "mean of bot connected → end",
		Attempt: func(a *attempt.Attempt) int { return one(a.WasConnected() && !a.Live()) },
		At:      run(func(c *campaign.Counters) *int { return &c.Conversations }),
	}, {
		Of: OfCounters, Name: "connected_calls", Unit: Calls, Period: Run,
		Formula: "Connected attempts: a live answer that a worker served in time.",
		Source:  "connected attempts with a result / connected attempts",
		Attempt: when((*attempt.Attempt).WasConnected),
		At:      run(func(c *campaign.Counters) *int { return &c.ConnectedCalls }),
	}, {
		Of: OfCounters, Name: "result_calls", Unit: Calls, Period: Run,
		Formula: "Connected attempts with a result.", Source: "connected attempts with a result / connected attempts",
		Attempt: func(a *attempt.Attempt) int { return one(a.WasConnected() && a.Result != nil) },
		At:      run(func(c *campaign.Counters) *int { return &c.ResultCalls }),
	}, {
		Of: OfCounters, Name: "live_answers", Unit: Calls, Period: Run,
		Formula: "Served and abandoned calls; machines, fax and network tones do not count.",
		Source:  "live answers (served + abandoned; machines, fax, SIT outside)",
		Attempt: liveAnswers, At: run(func(c *campaign.Counters) *int { return &c.LiveAnswers }),
	}, {
		Of: OfCounters, Name: "capacity_loss", Unit: Calls, Period: Run,
		Formula: "Of the abandoned, those due to a loss of our own capacity: a bot, a node or a process.",
		Source:  "`capacity_loss` counts in A, and is shown apart",
		Attempt: func(a *attempt.Attempt) int { return one(abandoned(a) && a.Cause == engine.AbandonCapacityLoss) },
		At:      run(func(c *campaign.Counters) *int { return &c.CapacityLoss }),
	}, {
		Of: OfCounters, Name: "talk_s", Unit: Seconds, Period: Run,
		Formula: "Sum of the conversations that ended, from the bot's connection to the end, in whole milliseconds each.",
		Source:  "mean of bot connected → end",
		Attempt: func(a *attempt.Attempt) int {
			if a.Live() {
				return 0
			}
			return int(a.TalkMS())
		},
		At: run(func(c *campaign.Counters) *int { return &c.TalkMS }),
	}, {
		Of: OfCounters, Name: "answer_rate", Label: "Answer Rate %", Unit: Share,
		Part: "answered", Over: "decided", Period: Run,
		Means:   "Share of attempts answered.",
		Formula: "Answered attempts of those that can no longer change.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same",
		rate: func(c *campaign.Counters, _ int) (**float64, float64, float64) {
			return &c.AnswerRate, float64(c.Answered), float64(c.Decided)
		},
	}, {
		Of: OfCounters, Name: "completion_rate", Label: "Completion Rate %", Unit: Share,
		Part: "result_calls", Over: "connected_calls", Period: Run,
		Means:   "Share of connected calls that completed a conversation.",
		Formula: "Connected attempts with a result, of the connected attempts.",
		Source:  "connected attempts with a result / connected attempts",
		rate: func(c *campaign.Counters, _ int) (**float64, float64, float64) {
			return &c.CompletionRate, float64(c.ResultCalls), float64(c.ConnectedCalls)
		},
	}, {
		Of: OfCounters, Name: "abandon_rate", Label: "Abandon Rate %", Unit: Share,
		Part: "abandoned", Over: "live_answers", Period: Run,
		Means:   "Share of answered calls abandoned because no worker was free.",
		Formula: "Abandoned calls of the live answers.",
		Source:  "abandoned / live answers (served + abandoned; machines, fax, SIT outside)",
		rate: func(c *campaign.Counters, _ int) (**float64, float64, float64) {
			return &c.AbandonRate, float64(c.Abandoned), float64(c.LiveAnswers)
		},
	}, {
		Of: OfCounters, Name: "aht_s", Label: "AHT", Unit: Seconds, Part: "talk_s", Over: "conversations", Period: Run,
		Means:   "Average length of a connected conversation.",
		Formula: "Mean length of the conversations that ended, from the bot's connection to the end.",
		Source:  "mean of bot connected → end",
		rate: func(c *campaign.Counters, _ int) (**float64, float64, float64) {
			return &c.AHTSeconds, c.TalkSeconds, float64(c.Conversations)
		},
	}, {
		Of: OfCounters, Name: "progress", Label: "Progress", Unit: Share, Period: Run,
		Formula: "Processed contacts (completed, failed, abandoned, machine_detected, window_closed, manually_stopped, " +
			"expired, by `states`) of total − excluded.",
		Source: "processed / (Total − excluded)",
		rate: func(c *campaign.Counters, _ int) (**float64, float64, float64) {
			processed := 0
			for s, n := range c.States {
				if s.Processed() {
					processed += n
				}
			}
			return &c.Progress, float64(processed), float64(c.Total - c.Excluded)
		},
	}, {
		Of: OfCounters, Name: "states", Unit: Contacts, Period: Now,
		Formula: "Contacts by status; they add up to total.", Source: "## 3. Contact",
	},

	{
		Of: OfPass, Name: "eligible", Label: "Eligible", Unit: Contacts, Period: Run,
		Formula: "Became due for the pass: attempted, or in line for it now or when the run was closed. Contacts excluded " +
			"while waiting are in none.",
		Source: "attempted / eligible (contacts that became due for it)",
	}, {
		Of: OfPass, Name: "attempted", Label: "Attempted", Unit: Calls, Period: Run,
		Formula: "Attempts of the pass that count or are live.",
		Source:  "attempted / eligible (contacts that became due for it)",
	}, {
		Of: OfPass, Name: "connected", Unit: Calls, Period: Run, Formula: "Connected attempts of the pass.",
		Source: "Connected %", Attempt: when((*attempt.Attempt).WasConnected),
		At: func(c *campaign.Counters, pass int) *int { return &c.Pass(pass).Connected },
	}, {
		Of: OfPass, Name: "connected_rate", Label: "Connected %", Unit: Share,
		Part: "connected", Over: "attempted", Period: Run,
		Formula: "Connected attempts of those attempted.", Source: "Connected %",
		rate: func(c *campaign.Counters, pass int) (**float64, float64, float64) {
			p := c.Pass(pass)
			return &p.ConnectedRate, float64(p.Connected), float64(p.Attempted)
		},
	}, {
		Of: OfPass, Name: "consumed", Inner: true, Attempt: when(consumed),
		At: func(c *campaign.Counters, pass int) *int { return &c.Pass(pass).Consumed },
	}, {
		Of: OfPass, Name: "live", Inner: true, Attempt: when((*attempt.Attempt).Live),
		At: func(c *campaign.Counters, pass int) *int { return &c.Pass(pass).Live },
	}, {
		Of: OfPass, Name: "awaiting", Inner: true, Contact: func(f *contact.Facts) int { return one(f.Awaits > 0) },
		At: func(c *campaign.Counters, pass int) *int { return &c.Pass(pass).Awaiting },
	}, {
		Of: OfPass, Name: "waiting", Inner: true, Contact: func(f *contact.Facts) int { return one(f.Awaits > 0 && f.Open) },
		At: func(c *campaign.Counters, pass int) *int { return &c.Pass(pass).Waiting },
	},

	{
		Of: OfCallbacks, Name: "requested", Label: "Callbacks requested", Unit: Callbacks, Period: Run,
		Means:   "Callbacks that were asked for or promised, counting each one of a contact that had several.",
		Formula: "By a result, granted or not, or promised by an operator: pending + completed + cancelled.",
		Source:  "each callback counts, also a contact's second",
	}, {
		Of: OfCallbacks, Name: "pending", Label: "Callbacks pending", Unit: Callbacks, Period: Now,
		Means:   "Callbacks that are still to come, or are being dialled.",
		Formula: "To come, even while the call that brought the wish goes on, or being dialled.",
		Source:  "each callback counts, also a contact's second",
		Contact: func(f *contact.Facts) int {
			return one(contact.CallbackPending.Covers(f.Callback)) + one(f.Superseded) // until its attempt ends
		},
		At: run(func(c *campaign.Counters) *int { return &c.Callbacks.Pending }),
	}, {
		Of: OfCallbacks, Name: "completed", Label: "Callbacks completed", Unit: Callbacks, Period: Run,
		Means: "Callbacks that were dialled.", Formula: "Dialled, by a call that counts and has ended.",
		Source: "each callback counts, also a contact's second",
		Attempt: func(a *attempt.Attempt) int {
			_, is := a.CallbackDelayMS()
			return one(is && consumed(a))
		},
		At: run(func(c *campaign.Counters) *int { return &c.Callbacks.Completed }),
	}, {
		Of: OfCallbacks, Name: "cancelled", Unit: Callbacks, Period: Run,
		Formula: "Refused, dropped, or replaced by a newer one.",
		Source:  "each callback counts, also a contact's second",
		Contact: func(f *contact.Facts) int { return one(f.Callback == contact.CallbackCancelled) + f.Cancelled },
		At:      run(func(c *campaign.Counters) *int { return &c.Callbacks.Cancelled }),
	}, {
		Of: OfCallbacks, Name: "mean_delay_s", Label: "Average delay", Unit: Seconds, Over: "completed", Period: Run,
		Means:   "From when a completed callback was due until it was dialled.",
		Formula: "Mean time from when the completed ones were due until they were dialled.",
		Source:  "Delay = dial time − scheduled time.",
		Attempt: func(a *attempt.Attempt) int {
			if ms, is := a.CallbackDelayMS(); is && consumed(a) {
				return int(ms)
			}
			return 0
		},
		At: run(func(c *campaign.Counters) *int { return &c.Callbacks.DelayMS }),
		rate: func(c *campaign.Counters, _ int) (**float64, float64, float64) {
			b := &c.Callbacks
			return &b.MeanDelaySeconds, float64(b.DelayMS) / 1000, float64(b.Completed)
		},
	},

	{
		Of: OfTotals, Name: "total_connected", Label: "Total connected", Unit: Contacts, Period: Run,
		Formula: "Contacts with at least one connected attempt: `connected` of the counters.",
		Source:  "finished campaigns add total connected",
	}, {
		Of: OfTotals, Name: "dialling_s", Unit: Seconds, Period: Run,
		Formula: "Time during which the run was running inside its window.",
		Source:  "calls/min over dialling time",
	}, {
		Of: OfTotals, Name: "dials_per_s", Label: "Dials/sec", Unit: PerSecond, Over: "dialling_s", Period: Dialling,
		Formula: "`attempts` of the counters, divided by dialling time.", Source: "calls/min over dialling time",
	}, {
		Of: OfTotals, Name: "connected_per_h", Label: "Connected/hr", Unit: PerHour, Over: "dialling_s", Period: Dialling,
		Formula: "`connected_calls` of the counters, divided by dialling time.", Source: "calls/min over dialling time",
	}, {
		Of: OfTotals, Name: "calls_per_min", Label: "Calls/min", Unit: PerMinute, Over: "dialling_s", Period: Dialling,
		Formula: "`attempts` of the counters, divided by dialling time.", Source: "calls/min over dialling time",
	},

	{
		Of: OfLive, Name: "dialling", Unit: Lines, Period: Now, Formula: "Lines that do not ring yet.",
		Source: "Ringing, In Progress | legs ringing now; conversations now",
	}, {
		Of: OfLive, Name: "ringing", Label: "Ringing", Unit: Lines, Period: Now, Means: "Lines ringing now.",
		Formula: "Lines that ring.", Source: "Ringing, In Progress | legs ringing now; conversations now",
	}, {
		Of: OfLive, Name: "waiting", Unit: Lines, Period: Now, Formula: "Answered lines that have no worker yet.",
		Source: "Ringing, In Progress | legs ringing now; conversations now",
	}, {
		Of: OfLive, Name: "in_progress", Label: "In Progress", Unit: Calls, Period: Now,
		Means: "Conversations with the bot now.", Formula: "Conversations with the bot.",
		Source: "Ringing, In Progress | legs ringing now; conversations now",
	}, {
		Of: OfLive, Name: "seats", Unit: Workers, Period: Now,
		Formula: "Workers that the campaign may use: what it is granted of the bot's, within Concurrency.",
		Source:  "**Concurrency** = simultaneously connected",
	}, {
		Of: OfLive, Name: "free_seats", Unit: Workers, Period: Now, Formula: "Of these, those that no line holds.",
		Source: "**Concurrency** = simultaneously connected",
	}, {
		Of: OfLive, Name: "abandon_credit", Unit: Lines, Period: Now,
		Formula: "Lines that may be dialled beyond the free workers without breaking the abandon cap.",
		Source:  "a dial beyond the free seats needs credit",
	}, {
		Of: OfLive, Name: "abandon_credit_held", Unit: Lines, Period: Now,
		Formula: "Lines beyond the free workers: if all were answered now, this many people would be abandoned.",
		Source:  "a dial beyond the free seats needs credit",
	}, {
		Of: OfLive, Name: "dials_per_s", Label: "Dials/sec", Unit: PerSecond, Period: Minute,
		Means:   "Calls placed per second, over the last 60 seconds; -- when idle.",
		Formula: "INVITEs that left, divided by the time passed. Null when none left for 30 s.",
		Source:  "over the last 60 s; `--` when idle",
	}, {
		Of: OfLive, Name: "connected_per_h", Label: "Connected/hr", Unit: PerHour, Period: Minute,
		Means:   "Calls that reached the bot per hour, over the last 60 seconds; -- when idle.",
		Formula: "Calls that were connected, divided by the time passed. Null when no INVITE left for 30 s.",
		Source:  "over the last 60 s; `--` when idle",
	}, {
		Of: OfLive, Name: "avg_ring_s", Label: "Avg Ring Time", Unit: Seconds, Period: Rings,
		Means:   "From the dial to the answer or the end of ringing, over the last 60 seconds.",
		Formula: "Mean time from the INVITE to the answer, or to the end of ringing, of the calls that got that far.",
		Source:  "INVITE → answer or end of ringing, last 60 s",
	}, {
		Of: OfLive, Name: "eta_s", Label: "ETA", Unit: Seconds, Period: Now,
		Formula: "Time until the run is expected to end: the dials still expected, at the rate of the last five minutes, " +
			"closed hours included. In whole minutes; null when it cannot be estimated.",
		Source: "remaining expected dials at the present rate within windows; absent when it cannot be estimated",
	},

	{
		Of: OfLedger, Name: "live_answers", Unit: Calls, Period: Ledger,
		Formula: "Served and abandoned calls, as the counters have them; over the last 24 hours and 30 days only what can " +
			"no longer be taken back.",
		Source: "The gate uses only answers that can no longer be revised.",
	}, {
		Of: OfLedger, Name: "abandoned", Unit: Calls, Period: Ledger,
		Formula: "Of these abandoned, from the decision on.", Source: "Abandoned counts **calls**",
	}, {
		Of: OfLedger, Name: "capacity_loss", Unit: Calls, Period: Ledger,
		Formula: "Of the abandoned, those due to a loss of our own capacity.",
		Source:  "`capacity_loss` counts in A, and is shown apart",
	}, {
		Of: OfLedger, Name: "machines", Unit: Calls, Period: Ledger,
		Formula: "Answered calls not taken for a person: machine, fax or network tone.",
		Source:  "A_eff includes φ × machines",
	}, {
		Of: OfLedger, Name: "abandon_rate", Unit: Share, Part: "abandoned", Over: "live_answers", Period: Ledger,
		Formula: "Abandoned calls of the live answers.",
		Source:  "abandoned / live answers (served + abandoned; machines, fax, SIT outside)",
	},

	{
		Of: OfSeries, Name: "dials", Unit: Calls, Period: Step,
		Formula: "Calls placed in the step: the INVITE left, or may have.",
		Source:  "**Attempt Report** (CSV, one row per dial)",
		Attempt: when(dialled),
	}, {
		Of: OfSeries, Name: "decided", Unit: Calls, Period: Step,
		Formula: "Of these, those that can no longer change: answered, or ended and counted against Max Attempts.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same", Attempt: when(decided),
	}, {
		Of: OfSeries, Name: "answered", Unit: Calls, Period: Step,
		Formula: "Of these answered. The answer rate is answered / decided.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same", Attempt: when(answered),
	}, {
		Of: OfSeries, Name: "live_answers", Unit: Calls, Period: Step,
		Formula: "Answers in the step that reached the bot or were abandoned.",
		Source:  "live answers (served + abandoned; machines, fax, SIT outside)", Attempt: liveAnswers,
	}, {
		Of: OfSeries, Name: "abandoned", Unit: Calls, Period: Step,
		Formula: "Of these abandoned. The abandon rate is abandoned / live_answers.",
		Source:  "abandoned / live answers (served + abandoned; machines, fax, SIT outside)", Attempt: when(abandoned),
	}, {
		Of: OfSeries, Name: "ringing", Unit: Lines, Period: Step,
		Formula: "Lines ringing at a time, on average over the step.",
		Source:  "Ringing, In Progress | legs ringing now; conversations now",
	}, {
		Of: OfSeries, Name: "connected", Unit: Calls, Period: Step,
		Formula: "Conversations at a time, on average over the step.",
		Source:  "Ringing, In Progress | legs ringing now; conversations now",
	},

	{
		Of: OfBreakdown, Name: "dials", Unit: Calls, Period: Run,
		Formula: "Calls that were placed and have ended.", Source: "**Attempt Report** (CSV, one row per dial)",
		Attempt: func(a *attempt.Attempt) int { return one(dialled(a) && !a.Live()) },
	}, {
		Of: OfBreakdown, Name: "decided", Unit: Calls, Period: Run,
		Formula: "By caller ID: calls that can no longer change: answered, or ended and counted against Max Attempts.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same", Attempt: when(decided),
	}, {
		Of: OfBreakdown, Name: "answered", Unit: Calls, Period: Run,
		Formula: "By caller ID: of these answered, including those under way.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same", Attempt: when(answered),
	}, {
		Of: OfBreakdown, Name: "answer_rate", Label: "Answer rate", Unit: Share,
		Part: "answered", Over: "decided", Period: Run,
		Formula: "By caller ID: answered attempts of those that can no longer change.",
		Source:  "Answer Rate counts attempts that can no longer change, everywhere the same",
	},

	{
		Of: OfNumber, Name: "hour_dials", Unit: Calls, Period: LastHour, Formula: "Calls placed from the number.",
		Source: "dials per hour and day",
	}, {
		Of: OfNumber, Name: "day_dials", Unit: Calls, Period: LastDay, Formula: "Calls placed from the number.",
		Source: "dials per hour and day",
	}, {
		Of: OfNumber, Name: "answered", Unit: Calls, Period: LastEnds,
		Formula: "Of the last ended calls, those that were answered.",
		Source:  "answer-rate watch",
	}, {
		Of: OfNumber, Name: "ended", Unit: Calls, Period: LastEnds,
		Formula: "The ended calls that answered refers to, 64 at most.",
		Source:  "answer-rate watch",
	}, {
		Of: OfNumber, Name: "answer_rate", Label: "Answer rate", Unit: Share,
		Part: "answered", Over: "ended", Period: LastEnds,
		Formula: "Answered calls among the last that ended: how the number is received, not how a run goes.",
		Source:  "answer-rate watch",
	},
}

// FigureOf finds a figure, nil when there is none.
func FigureOf(of Object, name string) *Figure {
	for i := range Figures {
		if f := &Figures[i]; f.Of == of && f.Name == name {
			return f
		}
	}
	return nil
}

// Says is the formula, with the division, and with the period if that is neither the whole run nor
// the present moment.
func (f *Figure) Says() string {
	says := f.Formula
	if f.Part != "" {
		says = strings.TrimSuffix(says, ".") + ": " + f.Part + " / " + f.Over + "."
	}
	switch f.Period {
	case Minute, Rings, LastEnds, LastHour, LastDay:
		says += " Of " + string(f.Period) + "."
	case Run, Now, Dialling, Ledger, Step:
	}
	return says
}

// The rows of the table by use.
var (
	ofContacts = figures(func(f *Figure) bool { return f.At != nil && f.Contact != nil })
	ofAttempts = figures(func(f *Figure) bool { return f.At != nil && f.Attempt != nil })
	ofPasses   = figures(func(f *Figure) bool { return f.rate != nil && f.Of == OfPass })
	ofCounts   = figures(func(f *Figure) bool { return f.rate != nil && f.Of != OfPass })
)

func figures(which func(*Figure) bool) (list []*Figure) {
	for i := range Figures {
		if f := &Figures[i]; which(f) {
			list = append(list, f)
		}
	}
	return list
}

// OfAttempts are the figures that are counted from the attempts of a run: those that must be
// derivable from a table of attempts, and from what is kept of a run without its attempts.
func OfAttempts() []*Figure { return ofAttempts }
