package campaign

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/window"
)

// Outlook is what the tables say about the dials ahead of a campaign.
type Outlook struct {
	Total    int          // contacts
	Waiting  int          // contacts that wait for a permitted dial
	Attempts int          // attempts that these have left
	Later    int          // those whose not_before has not come
	TooLong  int          // those with a variable too long for a SIP header
	Skipped  []SkipReason // the others, by the reason why they are not dialled
	Past     Past
}

// NumberGroup counts waiting contacts whose numbers share a prefix, so that they belong to one
// country and plan.
type NumberGroup struct {
	Sample engine.PhoneNumber
	Count  int
}

// GroupDigits is how many characters, the plus included, the numbers of a group share; GroupCap
// limits the number of groups considered.
const (
	GroupDigits = 8
	GroupCap    = 20_000
)

// Bar moves the waiting contacts in groups that may not be called to the skipped ones.
func (o *Outlook) Bar(groups []NumberGroup, judge func(engine.PhoneNumber) error) {
	barred := 0
	for _, g := range groups {
		if judge(g.Sample) != nil {
			barred += g.Count
		}
	}
	if barred = min(barred, o.Waiting); barred == 0 {
		return
	}
	o.Attempts -= o.Attempts * barred / o.Waiting
	o.Waiting -= barred
	o.Skipped = append(o.Skipped, SkipReason{Reason: engine.CodeDestination, Count: barred})
}

// SkipReason counts contacts that are not dialled for one reason.
type SkipReason struct {
	Reason string `json:"reason"` // excluded, suppressed, expired, processed, in_progress, …
	Count  int    `json:"count"`
}

// Past is the result of the campaign's latest attempts, at most PastCap of them and in any run.
type Past struct {
	Dials, Answered, Connected, Abandoned int
	TalkSeconds                           float64 // sum over the connected
	RingSeconds                           float64 // INVITE to answer or end, of all dials
}

// PastCap limits the number of attempts in Past.
const PastCap = 10_000

// Readiness is the answer of preflight: what forbids Start and Resume, what delays or impairs the
// run, and what to expect.
type Readiness struct {
	Ready    bool                `json:"ready"`
	Blockers []engine.FieldError `json:"blockers"`
	Warnings []engine.FieldError `json:"warnings"`
	Contacts ContactsAhead       `json:"contacts"`
	Estimate *Estimate           `json:"estimate"` // nil when nothing would be dialled
}

// ContactsAhead says how many contacts would be dialled, and why the others would not.
type ContactsAhead struct {
	Total   int          `json:"total"`
	ToDial  int          `json:"to_dial"`
	Skipped []SkipReason `json:"skipped"`
}

// Estimate is what the run is expected to take.
type Estimate struct {
	DurationSeconds int        `json:"duration_s"` // of dialling, inside windows
	Dials           int        `json:"dials"`
	Answers         int        `json:"answers"`
	Abandons        int        `json:"abandons"`
	EndsAt          *time.Time `json:"ends_at"` // nil means not within a year
	AnswerRate      float64    `json:"answer_rate"`
	AHTSeconds      float64    `json:"aht_s"`
	// Measured says that rate and length come from earlier attempts, not from defaults.
	Measured bool `json:"measured"`
}

// Assumptions about a campaign with little history.
const (
	assumedAnswerRate = 0.3
	assumedAHT        = 90.0 // s
	assumedRing       = 20.0 // s
	measuredFrom      = 50   // dials, and connected calls for the length
	assumedAbandons   = 0.5  // of the cap

	yearOfWindows = 366
)

// Ready puts together the answer of preflight.
func Ready(c *Campaign, f PreflightFacts, o Outlook, now time.Time) Readiness {
	r := Readiness{Blockers: Blockers(c, f, now), Warnings: []engine.FieldError{},
		Contacts: ContactsAhead{Total: o.Total, ToDial: o.Waiting, Skipped: o.Skipped}}
	if r.Ready = len(r.Blockers) == 0; r.Ready {
		r.Blockers = []engine.FieldError{}
	}
	if r.Contacts.Skipped == nil {
		r.Contacts.Skipped = []SkipReason{}
	}
	e, cut := estimate(c, &f, &o, now)
	r.Estimate = e
	r.Warnings = append(r.Warnings, warnings(c, &f, &o, cut, now)...)
	return r
}

// warnings do not forbid a start: waiting solves them, or they are worth knowing beforehand.
func warnings(c *Campaign, f *PreflightFacts, o *Outlook, cut bool, now time.Time) (list []engine.FieldError) {
	warn := func(when bool, field, code, message string) {
		if when {
			list = append(list, engine.FieldError{Field: field, Code: code, Message: message})
		}
	}
	w := &c.Settings.Window
	warn(f.BotKnown && !f.BotActive, "bot_id", "bot_inactive",
		"the bot is inactive; nothing is dialled until it is activated")
	warn(f.BotKnown && f.BotActive && f.BotOutage != "", "bot_id", "bot_down",
		"the bot takes no calls now ("+f.BotOutage+"); dialling begins once it does")
	warn(f.BotKnown && f.BotActive && f.Seats == 0, "bot_id", "no_seats", "the bot has no seats; give it some")
	warn(f.BotKnown && f.Seats > 0 && f.FreeSeats <= 0, "bot_id", "no_free_seats",
		"all seats of the bot are taken by other campaigns and calls now")
	warn(f.BotKnown && f.Seats > 0 && f.Seats < c.Settings.Concurrency, "concurrency", "fewer_seats_than_concurrency",
		"the bot has "+strconv.Itoa(f.Seats)+" seats: Concurrency of "+strconv.Itoa(c.Settings.Concurrency)+
			" cannot be reached")
	warn(f.Trunks > 0 && f.TrunksUp == 0, "trunk", "trunk_down",
		"every trunk is down; nothing is dialled until one is up again")
	warn(f.TrunksUp > 0 && f.TrunksUp < f.Trunks, "trunk", "trunk_partly_down",
		strconv.Itoa(f.Trunks-f.TrunksUp)+" of "+strconv.Itoa(f.Trunks)+" trunks are down")
	warn(f.TrunksUp > 0 && f.TrunksUp == f.TrunksUnproven, "trunk", "trunk_unproven",
		"no trunk has been heard from yet; one call at a time goes until one is")
	usable, barred := f.pool(c)
	warn(barred > 0 && usable > 0, "number_pool", "numbers_barred",
		strconv.Itoa(barred)+" of the pool's numbers are quarantined or retired and are not used")
	foreign := slices.DeleteFunc(slices.Clone(c.Settings.Numbers), func(n engine.PhoneNumber) bool {
		_, configured := f.Numbers[n]
		return configured
	})
	warn(len(foreign) > 0, "number_pool", "number_not_configured",
		strconv.Itoa(len(foreign))+
			" of the pool's numbers are not configured; configure them or take them out")
	warn(c.Settings.Cadence != "" && f.Cadence == nil, "cadence_id", "cadence_missing",
		"the campaign's cadence does not exist; contacts are redialled after the Retry Delay")
	idle := withoutEffect(&c.Settings, f.Cadence.Table())
	warn(len(idle) > 0, "cadence_id", "cadence_without_effect", "the campaign redials no outcome of these rules of its "+
		"cadence: "+strings.Join(idle, ", ")+"; Retry On System says what is redialled")
	if opens, ok := w.NextOpening(now); ok && opens.After(now) {
		closed := "the calling window is closed; it opens at "
		if by := w.ClosedBy(now); by != "" {
			closed = "the calendar " + by + " is closed; the calling window opens at "
		}
		warn(true, "window", "outside_window", closed+opens.UTC().Format(time.RFC3339))
	}
	warn(cut, "window", "window_too_short", "the single-day window is expected to close before every contact is called")
	warn(f.Callable && o.Waiting == 0, "contacts", "no_contact_to_dial",
		"no contact is waiting for a dial; see the skipped ones")
	warn(o.Later > 0, "contacts", "contacts_scheduled", counted(o.Later, "contact has", "contacts have")+
		" a not_before that has not come; the estimate takes them as due")
	warn(f.BotBySIP && o.TooLong > 0, "contacts", "variables_too_long",
		strconv.Itoa(o.TooLong)+" contacts have a variable of more than "+strconv.Itoa(engine.VariableHeaderCap)+
			" bytes, which a bot called by SIP does not receive")
	warn(f.DatabaseDown, "database", "database_unavailable",
		"the database does not answer; nothing is dialled until it does")
	warn(f.Draining, "node", "node_draining", "the dialler is stopping and places no new calls")
	warn(f.Fenced, "node", "node_fenced", "this node lost its lease and places no new call; another one takes over")
	return list
}

// withoutEffect lists the classes of a cadence's rules of which the campaign redials no outcome.
func withoutEffect(s *Settings, table *cadence.Cadence) (list []string) {
	if table == nil {
		return nil
	}
	for _, r := range table.Rules {
		redialled := slices.ContainsFunc(s.RetryOnSystem, func(o engine.Outcome) bool { return cadence.Of(o) == r.Class })
		if r.Class == cadence.Connected {
			redialled = redialled || len(s.RetryOnCustom) > 0 || s.RedialOnlyUnderSec > 0
		}
		if !redialled {
			list = append(list, string(r.Class))
		}
	}
	return list
}

// redialsTake is how many seconds in the window n redials of somebody who never answers take.
func redialsTake(s *Settings, table *cadence.Cadence, n int, now time.Time) float64 {
	delay := time.Duration(s.RetryDelaySec) * time.Second
	if table == nil {
		return float64(n) * delay.Seconds()
	}
	at, tries := now, cadence.Tries(0)
	for range n {
		tries = tries.Add(cadence.NoAnswer, at, &s.Window)
		if table.Spent(cadence.NoAnswer, tries) {
			break
		}
		at = table.Next(cadence.Ended{Class: cadence.NoAnswer, Tries: tries, Dialled: at, At: at, Delay: delay}, &s.Window)
		at = table.Allowed(at, tries, &s.Window)
	}
	return s.Window.OpenBetween(now, at).Seconds()
}

// estimate computes what the run is expected to take.
//
// With n contacts that wait, k attempts left each on average and the share a of dials that are
// answered, a contact is answered with q = 1 − (1 − a)^k after q/a dials. So
//
//	answers  = n·q                 dials = n·q/a
//	duration = max(answers·AHT/C, dials/CPS, (dials·ring + answers·AHT)/lines)
//	           + AHT + ring
//
// with C the smaller of Concurrency and seats, CPS and channels those of the active trunks, lines
// the smaller of channels and max_lines (of C when every dial holds a seat). While retries are left
// a run lasts at least (passes − 1) times the Retry Delay, or as long as the cadence takes with
// somebody who never answers. The end is when that much time inside
// the windows has passed. Abandons: the abandoned share of earlier answers, else half the cap,
// never more than the cap; none when every dial holds a seat.
//
// cut says that a single-day window closes first.
func estimate(c *Campaign, f *PreflightFacts, o *Outlook, now time.Time) (e *Estimate, cut bool) {
	s := &c.Settings
	if o.Waiting == 0 {
		return nil, false
	}
	e = &Estimate{AnswerRate: assumedAnswerRate, AHTSeconds: assumedAHT}
	ring := assumedRing
	if p := &o.Past; p.Dials >= measuredFrom && p.Answered > 0 {
		e.Measured = true
		e.AnswerRate = float64(p.Answered) / float64(p.Dials)
		ring = p.RingSeconds / float64(p.Dials)
		if p.Connected >= measuredFrom {
			e.AHTSeconds = p.TalkSeconds / float64(p.Connected)
		}
	}
	n, a := float64(o.Waiting), e.AnswerRate
	k := math.Max(1, float64(o.Attempts)/n)
	if len(s.RetryOnSystem) == 0 {
		k = 1
	}
	q := 1 - math.Pow(1-a, k)
	answers, dials := n*q, n*q/a
	e.Dials, e.Answers = int(math.Round(dials)), int(math.Round(answers))

	seats := float64(s.Concurrency)
	if f.Seats > 0 {
		seats = math.Min(seats, float64(f.Seats))
	}
	progressive := s.AbandonCapPPM == 0 || s.PacingMode == PacingProgressive
	lines := math.Inf(1)
	if f.Channels > 0 {
		lines = float64(f.Channels)
	}
	if s.MaxLines > 0 {
		lines = math.Min(lines, float64(s.MaxLines))
	}
	if progressive {
		lines = math.Min(lines, seats)
	}
	talk := answers * e.AHTSeconds
	took := math.Max(talk/math.Max(seats, 1), (dials*ring+talk)/math.Max(lines, 1))
	if f.CPS > 0 {
		took = math.Max(took, dials/float64(f.CPS))
	}
	took += e.AHTSeconds + ring
	if a < 1 {
		took = math.Max(took, redialsTake(s, f.Cadence.Table(), int(math.Ceil(k))-1, now))
	}
	e.DurationSeconds = int(math.Min(math.Ceil(took), math.MaxInt32))

	if cap := float64(s.AbandonCapPPM) / 1e6; !progressive {
		share := cap * assumedAbandons
		if e.Measured {
			share = math.Min(cap, float64(o.Past.Abandoned)/float64(o.Past.Answered))
		}
		e.Abandons = int(math.Round(answers * share))
	}
	ends, ok := windowsLater(s.Window, now, time.Duration(e.DurationSeconds)*time.Second)
	if s.SingleDay {
		if last := lastMoment(c, now); last != nil && (!ok || ends.After(*last)) {
			ends, ok, cut = *last, true, true
		}
	}
	if ok {
		ends = ends.UTC()
		e.EndsAt = &ends
	}
	return e, cut
}

// lastMoment is when a single-day campaign that starts or resumes now closes.
func lastMoment(c *Campaign, now time.Time) *time.Time {
	if c.WindowEndsAt != nil && (c.State == Running || c.State == Paused) {
		return c.WindowEndsAt
	}
	return SingleDayEnd(c, now)
}

// windowsLater is when d has passed inside the windows; ok is false when that
// takes more than a year of openings.
func windowsLater(w window.Window, now time.Time, d time.Duration) (time.Time, bool) {
	at := now
	for range yearOfWindows {
		open, ok := w.NextOpening(at)
		if !ok {
			return time.Time{}, false
		}
		end, ok := w.Closes(open)
		if !ok || !end.After(open) {
			return time.Time{}, false
		}
		if left := end.Sub(open); d <= left {
			return open.Add(d), true
		}
		d -= end.Sub(open)
		at = end
	}
	return time.Time{}, false
}

// codes lists the codes of blockers or warnings.
func codes(list []engine.FieldError) string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = list[i].Code
	}
	return strings.Join(all, ", ")
}
