package campaign

import (
	"fmt"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/pacing"
)

// Why is the answer to "why is it not dialling (more)?": one record, made by the run at the same
// moment as its figures (SEMANTICS §6, explanation). All wording is made here; other code displays
// it unchanged.
type Why struct {
	// Constraint is why no more dials are placed: the binding constraint over the last 10 s, for
	// ConstraintShare of them, shown since ConstraintSince. For a campaign that has not started, or
	// is over, it is empty, and Explanation names the state.
	Constraint      engine.Constraint `json:"constraint"`
	ConstraintShare float64           `json:"constraint_share,omitempty"`
	ConstraintSince *time.Time        `json:"constraint_since,omitempty"`
	Severity        Severity          `json:"severity,omitempty"`
	Standing        Standing          `json:"standing,omitempty"`
	Line            string            `json:"line,omitempty"`   // Standing in words, without a full stop
	Until           *time.Time        `json:"until,omitempty"`  // when the wait ends; nil if that depends on others
	Title           string            `json:"title,omitempty"`  // of Constraint, without a full stop or figures
	Explanation     string            `json:"explanation"`      // sentences, with the current figures
	Remedy          Remedy            `json:"remedy,omitempty"` // what would help, "" if an operator can do nothing
	// Resources are what the campaign dials with. The one that is Constraint is marked.
	Resources []Resource `json:"resources"`
}

// Severity is how much a constraint should concern an operator.
type Severity string

const (
	SeverityNormal Severity = "normal" // it dials as fast as configured
	SeverityNotice Severity = "notice" // it waits, or something slows it down
	SeverityOutage Severity = "outage" // nothing can be dialled, and not by decision
)

// Standing is the current activity of a running or paused campaign.
type Standing string

const (
	StandingDialling Standing = "dialling"
	// StandingWaiting means that nobody can be dialled before a time, before a call ends, or before
	// contacts are added.
	StandingWaiting Standing = "waiting"
	StandingStopped Standing = "stopped" // an outage
	StandingEnding  Standing = "ending"  // nobody is left to dial, or it was stopped; calls continue
	StandingPaused  Standing = "paused"
)

// Remedy is what an operator may do about a constraint.
type Remedy string

const (
	RemedyResume           Remedy = "resume"
	RemedyChangeWindow     Remedy = "change_window"
	RemedyRaiseConcurrency Remedy = "raise_concurrency"
	RemedyRaiseMaxLines    Remedy = "raise_max_lines"
	RemedyRaiseSeats       Remedy = "raise_seats"
	RemedyActivateBot      Remedy = "activate_bot"
	RemedyCheckBot         Remedy = "check_bot"
	RemedyRaiseTrunkCaps   Remedy = "raise_trunk_caps"
	RemedyCheckTrunks      Remedy = "check_trunks"
	RemedyAddNumbers       Remedy = "add_numbers"
	RemedyAddContacts      Remedy = "add_contacts"
	RemedyChangeRetries    Remedy = "change_retries"
	RemedyCheckDatabase    Remedy = "check_database"
	RemedyAddCapacity      Remedy = "add_capacity" // of the machine
)

// Reason is what the run knows about a constraint besides its figures.
type Reason struct {
	Constraint engine.Constraint
	Share      float64
	Since      time.Time
	Stopped    bool        // nothing can be dialled, and not by decision
	Bot        *engine.Bot // nil if unknown
	BotDown    string      // why the bot has no seats, "" if it has some
	Doubted    bool        // the bot missed answers lately
	Late       string      // why the brake is on
	Waits      int         // contacts that wait for their time
	NobodyLeft bool        // the open contacts are in calls for the last time
	Until      *time.Time  // when the next contact is due, or the window opens
	ClosedBy   string      // the calendar that keeps the window closed, "" if none does
	Supplies   *Supplies   // nil if unknown
}

// said is the wording for a constraint.
type said struct {
	severity    Severity
	standing    Standing
	line, title string
	sentence    string
	remedy      Remedy
}

// Explain fills in, in words, why no more is dialled.
func (l *Live) Explain(c *Campaign, r *Reason) {
	l.resources(c, r)
	if c.State != Running && c.State != Paused {
		l.Explanation = c.Standing()
		return
	}
	since := r.Since
	l.Constraint, l.ConstraintShare, l.ConstraintSince = r.Constraint, r.Share, &since
	s := l.say(c, r)
	if s.standing == "" {
		s.standing = StandingDialling
	}
	switch {
	case r.Stopped:
		s.severity, s.standing = SeverityOutage, StandingStopped
		s.line = "Stopped: " + lower(s.title)
	case s.line == "":
		s.line = "Dialling"
	}
	if s.standing == StandingWaiting && (r.Constraint != engine.ConstraintNoDueContacts || r.Waits > 0) {
		l.Until = r.Until
	}
	l.Severity, l.Standing, l.Line = s.severity, s.standing, s.line
	l.Title, l.Explanation, l.Remedy = s.title, s.sentence, s.remedy
}

// EndingAfterStop sets the standing of a campaign that is over while calls are still live.
func (l *Live) EndingAfterStop() {
	l.Standing, l.Line = StandingEnding, "Ending: "+l.underWay()
}

func (l *Live) say(c *Campaign, r *Reason) said {
	switch r.Constraint {
	case engine.ConstraintNone:
		return said{SeverityNormal, "", "", "Nothing holds it back", "Due contacts are dialled as they come.", ""}
	case engine.ConstraintPaused:
		return said{SeverityNotice, StandingPaused, "Paused", "The campaign is paused",
			"No new calls are placed until somebody presses Resume. Calls in progress finish.", RemedyResume}
	case engine.ConstraintWindow:
		closed := "The calling window is closed"
		if r.ClosedBy != "" {
			closed = "The calendar " + r.ClosedBy + " is closed"
		}
		return said{SeverityNotice, StandingWaiting, "Waiting for the calling window", closed,
			"Dialling resumes when it opens.", RemedyChangeWindow}
	case engine.ConstraintConcurrency, engine.ConstraintSeats, engine.ConstraintAbandonCredit:
		return l.workers(c, r)
	case engine.ConstraintMaxLines:
		return said{SeverityNormal, "", "", "As many lines ring as the campaign allows",
			fmt.Sprintf("%s at once: %s.",
				counted(c.Settings.MaxLines, "line may ring", "lines may ring"), l.lines()), RemedyRaiseMaxLines}
	case engine.ConstraintTrunkCPS,
		engine.ConstraintTrunkChannels,
		engine.ConstraintTrunkHealth,
		engine.ConstraintNumberPool:
		return l.supplied(c, r)
	case engine.ConstraintNoDueContacts, engine.ConstraintRetryDelay:
		return l.nobody(c, r)
	case engine.ConstraintDatabase:
		return said{SeverityOutage, StandingStopped, "", "The database does not answer",
			"No call is placed whose intent cannot be stored. Calls in progress go on; dialling resumes by itself.",
			RemedyCheckDatabase}
	case engine.ConstraintNodeDraining:
		return said{
			SeverityNotice,
			StandingStopped,
			"Stopped: the dialler is shutting down",
			"The dialler is shutting down",
			"Calls in progress finish; dialling resumes after its next start.",
			"",
		}
	case engine.ConstraintNodeFenced:
		return said{SeverityOutage, StandingStopped, "", "This node lost its lease",
			"Another node takes over within ten seconds; calls in progress go on.", ""}
	case engine.ConstraintKeeperAway:
		return said{SeverityOutage, StandingStopped, "", "Another node does not answer",
			"It keeps the count of what the trunk, the bot or the number may carry. " +
				"It is replaced within ten seconds; calls in progress go on.", ""}
	case engine.ConstraintOverload:
		return said{
			SeverityNotice,
			"",
			"",
			"The dialler is at its limit",
			upper(r.Late) + ". Give it processor time or a faster " +
				"database, or lower the trunks' calls a second.",
			RemedyAddCapacity,
		}
	}
	return said{SeverityNotice, "", "", upper(strings.ReplaceAll(string(r.Constraint), "_", " ")), "", ""}
}

// workers is about workers: those of the campaign, those of the bot, or those that a further line
// would risk.
func (l *Live) workers(c *Campaign, r *Reason) said {
	at := &c.Settings
	taken := fmt.Sprintf("%s in calls, %s", counted(l.Seats-l.FreeSeats, "worker is", "workers are"), l.lines())
	switch {
	case r.Constraint == engine.ConstraintSeats && r.Bot != nil && !r.Bot.Active:
		return said{SeverityOutage, StandingStopped, "", "The bot is inactive",
			"The bot is inactive: nothing is dialled until it is activated. Calls in progress go on.",
			RemedyActivateBot}
	case r.Constraint == engine.ConstraintSeats && r.BotDown != "":
		return said{
			SeverityOutage,
			StandingStopped,
			"",
			"The bot takes no calls",
			upper(r.BotDown) + ".",
			RemedyCheckBot,
		}
	case r.Constraint == engine.ConstraintSeats && r.Doubted:
		return said{
			SeverityNotice,
			"",
			"",
			"The bot recently missed answers",
			fmt.Sprintf("Calls are dialled only as far as it serves those answered: %s.", taken),
			RemedyCheckBot,
		}
	case r.Constraint == engine.ConstraintSeats:
		has := ""
		if r.Bot != nil {
			has = fmt.Sprintf("The bot has %s for all campaigns; ", counted(r.Bot.Seats, "seat", "seats"))
		}
		return said{SeverityNormal, "", "", "The bot's workers for this campaign are busy or reserved for dials",
			upper(
				fmt.Sprintf(
					"%sthis one may use %d of its concurrency of %d now: %s.",
					has,
					l.Seats,
					at.Concurrency,
					taken,
				),
			),
			RemedyRaiseSeats}
	case r.Constraint == engine.ConstraintAbandonCredit:
		return l.credit(c)
	}
	return said{SeverityNormal, "", "", "The campaign's conversations are all under way or reserved for dials",
		fmt.Sprintf("Concurrency is %d: %s.", at.Concurrency, taken), RemedyRaiseConcurrency}
}

func (l *Live) credit(c *Campaign) said {
	s := said{SeverityNormal, "", "", "Holding back so that nobody is abandoned", "", RemedyRaiseSeats}
	for i := range l.Ledgers {
		v := &l.Ledgers[i]
		if !v.Binding {
			continue
		}
		if v.Credit > 0 {
			s.sentence = fmt.Sprintf(
				"Of %s %d %s held by lines without a free worker; %s without an abandon earn one more.",
				counted(v.Credit, "credit", "credits"),
				min(l.CreditHeld, v.Credit),
				isAre(min(l.CreditHeld, v.Credit)),
				counted(v.CreditAfter, "live answer", "live answers"),
			)
			return s
		}
		s.sentence = fmt.Sprintf(
			"%s of %s: the abandon cap is %s. A line without a free worker waits for %s without an abandon.",
			counted(
				v.Abandoned,
				"call was abandoned",
				"calls were abandoned",
			),
			counted(v.LiveAnswers, "live answer", "live answers"),
			perCentOf(c.Settings.AbandonCapPPM),
			counted(v.CreditAfter, "live answer", "live answers"),
		)
		return s
	}
	s.sentence = fmt.Sprintf(
		"A line beyond the free workers could break the abandon cap of %s.",
		perCentOf(c.Settings.AbandonCapPPM),
	)
	return s
}

// supplied is about trunks and numbers.
func (l *Live) supplied(c *Campaign, r *Reason) said {
	at := func(name string) (used, of float64, out string) {
		for i := range l.Resources {
			if v := &l.Resources[i]; v.Resource == name {
				return v.Used, v.Of, v.Note
			}
		}
		return 0, 0, ""
	}
	switch r.Constraint {
	case engine.ConstraintTrunkCPS:
		sentence := "Calls are placed as fast as the trunks allow."
		if used, of, _ := at(ResourceCPS); of > 0 {
			sentence = fmt.Sprintf(
				"%.1f of %.1f calls a second: they are placed as fast as the trunks allow.",
				used,
				of,
			)
		}
		return said{SeverityNormal, "", "", "The trunks take no more calls per second", sentence, RemedyRaiseTrunkCaps}
	case engine.ConstraintTrunkChannels:
		sentence := ""
		if used, of, _ := at(ResourceChannels); of > 0 {
			sentence = fmt.Sprintf("%.0f of %.0f are in use. ", used, of)
		}
		return said{
			SeverityNormal,
			"",
			"",
			"All channels of the trunks are taken",
			sentence + "The next call is placed when one ends.",
			RemedyRaiseTrunkCaps,
		}
	case engine.ConstraintTrunkHealth:
		_, _, out := at(ResourceChannels)
		return said{
			SeverityOutage,
			StandingStopped,
			"",
			"No trunk is usable",
			"The trunks do not answer, refuse our calls or are " +
				"switched off" + brackets(out) + ". Dialling resumes as soon as one recovers.",
			RemedyCheckTrunks,
		}
	}
	_, _, out := at(ResourceNumbers)
	return said{SeverityNotice, StandingWaiting, "Waiting for an outbound number", "No outbound number is free",
		fmt.Sprintf(
			"The %s of the pool can take no more calls now%s.",
			counted(len(c.Settings.Numbers), "number", "numbers"),
			brackets(out),
		),
		RemedyAddNumbers}
}

// nobody is for the case that no contact can be dialled now.
func (l *Live) nobody(c *Campaign, r *Reason) said {
	switch {
	case r.Constraint == engine.ConstraintRetryDelay:
		return said{SeverityNotice, StandingWaiting, "Waiting for retries", "Waiting for retries",
			fmt.Sprintf(
				"%s for the next attempt; %s.",
				counted(r.Waits, "contact waits", "contacts wait"),
				l.underWay(),
			),
			RemedyChangeRetries}
	case c.Settings.AlwaysOn && r.Waits == 0:
		return said{SeverityNotice, StandingWaiting, "Waiting for contacts", "No contact is due",
			"The campaign waits for contacts to be added; " + l.underWay() + ".", RemedyAddContacts}
	case r.Waits > 0:
		return said{SeverityNotice, StandingWaiting, "Waiting for contacts", "No contact is due",
			fmt.Sprintf(
				"%s for the time of a first call; %s.",
				counted(r.Waits, "contact waits", "contacts wait"),
				l.underWay(),
			), ""}
	case r.NobodyLeft && !l.busy():
		return said{SeverityNormal, StandingEnding, "Ending: the last results are awaited", "Nobody is left to dial",
			"The last results are awaited; the run ends with them.", RemedyAddContacts}
	case r.NobodyLeft:
		return said{SeverityNormal, StandingEnding, "Ending: " + l.underWay(), "Nobody is left to dial",
			upper(l.underWay()) + "; the run ends with them.", RemedyAddContacts}
	}
	line := "Waiting for results"
	if l.busy() {
		line = "Waiting for the calls under way"
	}
	return said{
		SeverityNotice,
		StandingWaiting,
		line,
		"No contact is due",
		"Every remaining contact is in a call or waits for its result: " +
			l.underWay() + ". Some may be redialled later.",
		"",
	}
}

// lines says how many lines were dialled, or are about to be, and have no bot.
func (l *Live) lines() string {
	return counted(l.Dialling+l.Ringing+l.Waiting, "line is dialled", "lines are dialled")
}

// busy says that a line or a conversation is in progress.
func (l *Live) busy() bool { return l.Dialling+l.Ringing+l.Waiting+l.InProgress > 0 }

// underWay describes what is in progress.
func (l *Live) underWay() string {
	if !l.busy() {
		return "no call is under way"
	}
	return l.lines() + ", " + counted(l.InProgress, "conversation goes on", "conversations go on")
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func brackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func lower(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func perCentOf(ppm int) string { return pacing.Percent(ppm) + "\u00a0%" }
