package eligibility

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode"

	"dialler/engine"
)

// Limits of question and answer.
const (
	// Budget is what the answer may take, everything included.
	Budget = 300 * time.Millisecond
	// AnswerCap bounds an answer, in bytes.
	AnswerCap = 4 << 10
	reasonCap = 200 // bytes

	LeastDeferral = 10 * time.Second
	MostDeferral  = 14 * 24 * time.Hour
	// AgainAfter is when a contact is asked about again for whom nobody answered
	// and who waits for that.
	AgainAfter = time.Minute
)

// Hook is what a campaign says of one of its own.
type Hook struct {
	URL  string // "": the campaign has none
	Fail string // Open or Closed; "": as the installation's flag says
}

// What happens without an answer.
const (
	Open   = "open"   // it is called
	Closed = "closed" // it is asked about again later
)

// Question is what a hook is asked.
type Question struct {
	// Own is the campaign's hook, asked beside the installation's.
	Own       Hook
	Campaign  engine.CampaignID
	Run       int
	Contact   engine.ContactID
	Attempt   int // which of the contact's attempts it would be, from 1
	To        engine.PhoneNumber
	Variables map[string]string
}

// Type is that of the message, in the manner of webhooks.
const Type = "contact.eligibility"

// Body is the question as JSON.
func (q *Question) Body(now time.Time) []byte {
	body, _ := json.Marshal(map[string]any{ // of texts and numbers
		"type": Type, "timestamp": now.UTC().Format(time.RFC3339Nano),
		"data": map[string]any{"campaign_id": q.Campaign, "run": q.Run, "contact_id": q.Contact, "attempt": q.Attempt,
			"to_number": q.To.E164(), "variables": q.Variables},
	})
	return body
}

// Decision is what the hook answers, and what comes of it.
type Decision string

const (
	Allow   Decision = "allow"
	Defer   Decision = "defer"
	Exclude Decision = "exclude"
)

// Answer is a well-formed one.
type Answer struct {
	Decision Decision
	Until    time.Time // of Defer
	Reason   string    // somebody's own words
}

// ErrAnswer: what came back is no answer.
var ErrAnswer = errors.New("the eligibility hook's answer is none: it must be a JSON object with the decision allow, defer (with until) or exclude")

// Read takes an answer's body.
func Read(body []byte) (a Answer, err error) {
	var raw struct {
		Decision Decision   `json:"decision"`
		Until    *time.Time `json:"until"`
		Reason   string     `json:"reason"`
	}
	if len(body) > AnswerCap || json.Unmarshal(body, &raw) != nil {
		return a, ErrAnswer
	}
	switch raw.Decision {
	case Allow, Exclude:
	case Defer:
		if raw.Until == nil {
			return a, ErrAnswer
		}
		a.Until = *raw.Until
	default:
		return a, ErrAnswer
	}
	a.Decision, a.Reason = raw.Decision, plain(raw.Reason)
	return a, nil
}

// plain is a text without what cannot be stored or shown.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
	for len(s) > reasonCap {
		s = strings.TrimRightFunc(s[:len(s)-1], func(r rune) bool { return r == unicode.ReplacementChar })
	}
	return s
}

// Verdict is what is done with the contact.
type Verdict struct {
	Decision Decision
	Until    time.Time // of Defer
	Code     string    // of Defer: engine.CodeNotEligible, or CodeEligibilityUnknown for want of an answer
	Reason   string    // of Exclude
}

// Stricter is what two verdicts come to: who is to be left alone by one is, and who
// waits waits for both.
func Stricter(a, b Verdict) Verdict {
	switch {
	case a.Decision == Exclude:
		return a
	case b.Decision == Exclude:
		return b
	case a.Decision == Defer && (b.Decision != Defer || !a.Until.Before(b.Until)):
		return a
	}
	return b
}

// Judge makes a verdict of an answer, or of its absence. closed: without an
// answer nobody is called.
func Judge(a Answer, err error, closed bool, now time.Time) Verdict {
	switch {
	case err == nil && a.Decision == Exclude:
		return Verdict{Decision: Exclude, Reason: a.Reason}
	case err == nil && a.Decision == Defer:
		until := a.Until
		if least := now.Add(LeastDeferral); until.Before(least) {
			until = least
		}
		if most := now.Add(MostDeferral); until.After(most) {
			until = most
		}
		return Verdict{Decision: Defer, Until: until, Code: engine.CodeNotEligible}
	case err != nil && closed:
		return Verdict{Decision: Defer, Until: now.Add(AgainAfter), Code: engine.CodeEligibilityUnknown}
	}
	return Verdict{Decision: Allow}
}
