package campaign

import (
	"fmt"
	"math"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/contact"
	"dialler/engine/pacing"
	"dialler/engine/window"
)

// Explanation says why a contact is not dialled now, and when it will be (SEMANTICS §6): a stable
// code, a sentence, and the time if known.
type Explanation struct {
	Code    string     `json:"code"`
	Message string     `json:"message"`
	NextAt  *time.Time `json:"next_at,omitempty"`
	// Ahead is how many due contacts are dialled before it, when it only waits for its turn.
	Ahead *int `json:"ahead,omitempty"`
	// AheadSeconds is roughly how long they take at the present pace, in s, if there is one.
	AheadSeconds *float64 `json:"ahead_s,omitempty"`
}

// Codes of explanations in addition to those of constraints (window, paused, seats …), which
// concern the whole campaign.
const (
	WhyInCall        = "call_in_progress"
	WhyResultAwaited = "result_awaited"
	WhyExhausted     = contact.ReasonExhausted
	WhyNeverOpens    = contact.ReasonNeverOpens
	WhyNotRetried    = "outcome_not_retried"
	WhySuppressed    = "suppressed"
	WhyNotStarted    = "campaign_not_started"
	WhyEnded         = "campaign_ended"
	WhyCallback      = "callback_scheduled"
	WhyRetryDelay    = "retry_delay"
	WhyOutsideWindow = "outside_window"
	WhyNotBefore     = ReasonNotBefore
	WhyExpires       = "expires_before"
	WhyNumberHeld    = "number_held"
	WhyCallsBack     = contact.ReasonCallsBack
	WhyCalleeCap     = engine.CodeCalleeCap
	WhyNotEligible   = engine.CodeNotEligible
	WhyNoEligibility = engine.CodeEligibilityUnknown
	WhySeatNeeded    = "seat_needed"
	WhyQueued        = "queued"
)

// Question is the input of an explanation.
type Question struct {
	Campaign *Campaign
	Contact  *contact.Contact
	Facts    ContactFacts
	Home     window.Home    // of the contact's number
	Cadence  *cadence.Named // of the campaign, nil if it has none
	Live     *Live          // of the campaign, nil when it is not loaded
	Now      time.Time
}

// Explain checks the reasons in order of precedence: the contact is final, something is in
// progress, something forbids the call, the contact itself waits, and only then constraints of the
// whole campaign.
func Explain(q Question) Explanation {
	e := q.explain()
	if c := q.Contact; c.Alternates != "" && c.Attempt == "" && c.DueAt != nil && e.Code != WhySuppressed {
		e.Message += fmt.Sprintf("; number %d of %d is called next", c.Choice.Place()+1, 1+c.Alternates.Len())
	}
	return e
}

func (q Question) explain() Explanation {
	c := q.Contact
	switch {
	case c.State == contact.Excluded:
		return because(string(contact.Excluded), "it is excluded from this campaign%s", note(c.Reason))
	case c.Attempt != "" && c.ExcludeAfterCall:
		return because(WhyInCall, "it is being called now, and excluded once the call is over")
	case c.Attempt != "":
		return because(WhyInCall, "it is being called now")
	case c.State.Processed():
		return q.final()
	case c.ResultDueAt != nil && c.DueAt == nil:
		return until(WhyResultAwaited, *c.ResultDueAt, "its conversation is over; the bot's result is awaited until then")
	case q.Facts.Excluded:
		return because(string(contact.Excluded), "its number is excluded from this campaign")
	case c.Choice.Stopped():
		return because(WhySuppressed,
			"somebody at one of its numbers asked not to be called; it is excluded when its turn comes")
	case q.Facts.Suppressed && c.Alternates != "":
		return because(WhySuppressed, "the numbers at which it may still be called are all on the suppression list of "+
			"this installation; it becomes final when its turn comes")
	case q.Facts.Suppressed:
		return because(WhySuppressed,
			"its number is on the suppression list of this installation; it becomes final when its turn comes")
	case q.Campaign.State == Draft:
		return because(WhyNotStarted, "the campaign has not started")
	case q.Campaign.State == Completed, q.Campaign.State == Failed:
		return because(WhyEnded, "the campaign's run is over (%s)", q.Campaign.State)
	case c.DueAt == nil:
		return because(WhyQueued, "its next step is being decided")
	case c.Expired(q.Now):
		return because(WhyExpires, "it may be called until %s; it becomes final in a moment", clock(c.ExpiresAt))
	case c.DueAt.After(q.Now):
		return q.tooLate(q.later())
	}
	return q.tooLate(q.due())
}

// ExplainDialout says why a scheduled dialout is not dialled now.
func ExplainDialout(w *attempt.Waits, now time.Time) Explanation {
	switch {
	case !now.Before(w.ExpiresAt):
		return because(WhyExpires, "it may be called until %s; it becomes final in a moment", clock(&w.ExpiresAt))
	case now.Before(w.NotBefore):
		return until(WhyNotBefore, w.NotBefore, "it is called from then on, as whoever asked for the call said")
	case w.Reason != "":
		return because(w.Reason, "its time has come, but it could not be placed (%s); it is tried again until %s", w.Reason,
			clock(&w.ExpiresAt))
	}
	return because(WhyQueued, "its time has come, and it is being placed")
}

// tooLate says that a contact expires before it can be dialled.
func (q Question) tooLate(e Explanation) Explanation {
	if end := q.Contact.ExpiresAt; end != nil && e.NextAt != nil && !e.NextAt.Before(*end) {
		return because(WhyExpires, "it may be called until %s, which is before its next dial at %s; it becomes final then",
			clock(end), clock(e.NextAt))
	}
	return e
}

// clock is a time in a sentence.
func clock(t *time.Time) string {
	if t == nil {
		return "its time"
	}
	return t.UTC().Format(time.RFC3339)
}

// later explains a contact that is not due yet.
func (q Question) later() Explanation {
	c := q.Contact
	switch {
	case c.NotBefore != nil && c.DueAt.Equal(*c.NotBefore):
		return until(WhyNotBefore, *c.DueAt, "it may be called from then on, as whoever asked for the call said")
	case c.Reason == contact.ReasonCallsBack:
		return until(WhyCallsBack, *c.DueAt,
			"the person called back; it is not dialled before then, unless the result of that call says otherwise")
	case q.neverOpens(*c.DueAt): // that is only when this is looked at again
		return q.never()
	case c.Reason == engine.CodeCalleeCap:
		return until(WhyCalleeCap, *c.DueAt,
			"its number was called as often as this installation allows; it may be called again then")
	case c.Reason == engine.CodeNotEligible:
		return until(WhyNotEligible, *c.DueAt, "the eligibility hook wants it called later; it is asked about again then")
	case c.Reason == engine.CodeEligibilityUnknown:
		return until(WhyNoEligibility, *c.DueAt,
			"the eligibility hook does not answer, and nobody is called without its answer; it is asked again then")
	case c.DueClass == contact.DueCallback:
		return until(WhyCallback, *c.DueAt, "it is to be called back; the call is scheduled for then")
	case c.Unconsumed > 0:
		return until(WhyRetryDelay, *c.DueAt, "its last call did not go through (%s); it is tried again then", c.LastOutcome)
	case c.DueClass == contact.DueRetry && q.Cadence != nil:
		return until(WhyRetryDelay, *c.DueAt, "attempt %d of %d follows then, by the cadence %s%s", c.Used+1, c.Max,
			q.Cadence.Name, note(q.step()))
	case c.DueClass == contact.DueRetry:
		return until(WhyRetryDelay, *c.DueAt,
			"attempt %d of %d follows then, after the retry delay and inside the calling window", c.Used+1, c.Max)
	}
	if by := q.window().ClosedBy(q.Now); by != "" {
		return until(WhyOutsideWindow, *c.DueAt, "the calendar %s is closed; its calling window opens then", by)
	}
	return until(WhyOutsideWindow, *c.DueAt, "its calling window opens then")
}

// step is what the cadence says after the contact's last attempt.
func (q Question) step() string {
	of := cadence.Of(q.Contact.LastOutcome)
	if rule := q.Cadence.After(of, q.Contact.Tries.Count(of)); rule != "" {
		return rule
	}
	return "the retry delay"
}

// window is the calling window of the contact.
func (q Question) window() window.Window { return q.Campaign.Settings.Window.For(q.Home) }

// neverOpens says that the contact's window is not open any more from a time on, as the calendars are.
func (q Question) neverOpens(t time.Time) bool {
	_, ok := q.window().NextOpening(t)
	return !ok && q.Campaign.WindowEndsAt == nil
}

func (q Question) never() Explanation {
	if by := q.window().ClosedBy(q.Now); by != "" {
		return because(WhyNeverOpens, "its calling window and the calendars, of which %s is closed, are never open "+
			"together in the next %d days", by, window.HorizonDays)
	}
	return because(WhyNeverOpens, "there is no hour at which its calling window is open")
}

// due explains a contact that could be dialled as far as the contact itself is concerned.
func (q Question) due() Explanation {
	if w := q.window(); !w.Open(q.Now) {
		by := w.ClosedBy(q.Now)
		at, ok := Clip(q.Campaign, q.Home)(q.Now)
		switch {
		case ok && by != "":
			return until(WhyOutsideWindow, at, "the calendar %s is closed; its calling window opens then", by)
		case ok:
			return until(WhyOutsideWindow, at, "its calling window is closed; it opens then")
		case q.Campaign.WindowEndsAt != nil:
			return because(WhyOutsideWindow, "its calling window does not open again before this run ends")
		}
		return q.never()
	}
	switch {
	case q.Campaign.State == Paused:
		return because(string(engine.ConstraintPaused), "the campaign is paused")
	case q.Facts.Held && q.Facts.HeldUntil != nil:
		return until(WhyNumberHeld, *q.Facts.HeldUntil,
			"there is no proof that an earlier call to its number is over: it is held until there is, or until then")
	case q.Facts.Held:
		return because(WhyNumberHeld, "another call to its number is not over yet")
	}
	e := Explanation{Code: WhyQueued, Message: "it is among the next to be dialled", Ahead: &q.Facts.Ahead}
	if n := q.Facts.Ahead; n > 0 {
		e.Message = fmt.Sprintf("%s dialled before it", counted(n, "due contact is", "due contacts are"))
		if n >= AheadCap {
			e.Message = fmt.Sprintf("more than %d due contacts are dialled before it", AheadCap)
		}
		if l := q.Live; l != nil && l.DialsPerSec != nil && *l.DialsPerSec > 0 {
			s := math.Round(float64(n) / *l.DialsPerSec)
			e.AheadSeconds = &s
			e.Message += ", which takes about " + about(s) + " at the current pace"
		}
	}
	if at := q.Facts.AbandonedAt; at != nil && pacing.NeedsSeat(*at, q.Now) {
		e.Code = WhySeatNeeded
		e.Message += "; a call to its number was abandoned within the last 72 h, so it waits for a seat of its own"
	}
	if q.Live != nil {
		switch why := q.Live.Constraint; why {
		case engine.ConstraintNone, engine.ConstraintNoDueContacts, engine.ConstraintRetryDelay:
		default:
			if e.Code == WhyQueued {
				e.Code = string(why)
			}
			e.Message += "; " + lower(q.Live.Title)
		}
	}
	return e
}

// about writes a duration in everyday words.
func about(s float64) string {
	switch {
	case s < 90:
		return counted(max(int(s), 1), "second", "seconds")
	case s < 90*60:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 48*3600:
		return fmt.Sprintf("%.0f h", s/3600)
	}
	return fmt.Sprintf("%.0f days", s/86400)
}

// final says why nothing more follows in this run.
func (q Question) final() Explanation {
	c := q.Contact
	switch c.State {
	case contact.Completed:
		return because(string(c.State), "the conversation finished and its result is stored%s", note(c.LastDisposition))
	case contact.Abandoned:
		return because(string(c.State),
			"its call was answered but no bot was there in time; it is not dialled again in this run")
	case contact.MachineDetected:
		return because(string(c.State),
			"an answering machine took the call, and machines are not redialled or its attempts are used up")
	case contact.WindowClosed:
		return because(string(c.State), "it was still waiting when the single-day window ended")
	case contact.ManuallyStopped:
		return because(string(c.State), "it was still waiting when the campaign was stopped")
	case contact.Expired:
		return because(string(c.State), "it was not reached before %s, until when it may be called", clock(c.ExpiresAt))
	case contact.Failed, contact.Pending, contact.Waiting, contact.Connected, contact.Excluded:
	}
	switch c.Reason {
	case contact.ReasonExhausted:
		return because(WhyExhausted, "all %d attempts are used; the last one ended as %s", c.Used, c.LastOutcome)
	case contact.ReasonNeverOpens:
		return because(WhyNeverOpens, "there is no hour at which its calling window is open")
	}
	if of := cadence.Of(c.LastOutcome); q.Cadence != nil && q.Cadence.Spent(of, c.Tries) {
		return because(WhyNotRetried, "%d of its calls ended as %s, after which the cadence %s has it not dialled again",
			c.Tries.Count(of), of, q.Cadence.Name)
	}
	return because(WhyNotRetried, "its last call ended as %s, after which it is not dialled again", c.Reason)
}

func because(code, format string, args ...any) Explanation {
	return Explanation{Code: code, Message: fmt.Sprintf(format, args...)}
}

func until(code string, at time.Time, format string, args ...any) Explanation {
	e := because(code, format, args...)
	e.NextAt = &at
	return e
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
