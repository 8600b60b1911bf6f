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
	// Budget is the time for an answer, everything included.
	Budget = 300 * time.Millisecond
	// AnswerCap limits the size of an answer, in bytes.
	AnswerCap = 4 << 10
	reasonCap = 200 // bytes

	LeastDeferral = 10 * time.Second
	MostDeferral  = 14 * 24 * time.Hour
	// AgainAfter is when the question is repeated for a contact that waits because of a missing
	// answer.
	AgainAfter = time.Minute
)

// Hook is a campaign's own hook.
type Hook struct {
	URL  string // "" means that the campaign has none
	Fail string // Open or Closed; "" means the installation's setting
}

// What happens without an answer.
const (
	Open   = "open"   // it is called
	Closed = "closed" // it is asked about again later
)

// Question is what a hook is asked.
type Question struct {
	// Own is the campaign's hook, asked in addition to the installation's.
	Own       Hook
	Campaign  engine.CampaignID
	Run       int
	Contact   engine.ContactID
	Attempt   int // number of the contact's attempt that this would be, from 1
	To        engine.PhoneNumber
	Variables map[string]string
}

// Type is the type of the message, as for webhooks.
const Type = "contact.eligibility"

// Body is the question as JSON.
func (q *Question) Body(now time.Time) []byte {
	body, _ := json.Marshal(map[string]any{ // consists of strings and numbers
		"type": Type, "timestamp": now.UTC().Format(time.RFC3339Nano),
		"data": map[string]any{"campaign_id": q.Campaign, "run": q.Run, "contact_id": q.Contact, "attempt": q.Attempt,
			"to_number": q.To.E164(), "variables": q.Variables},
	})
	return body
}

// Decision is the hook's answer, and the resulting action.
type Decision string

const (
	Allow   Decision = "allow"
	Defer   Decision = "defer"
	Exclude Decision = "exclude"
)

// Answer is a well-formed answer.
type Answer struct {
	Decision Decision
	Until    time.Time // of Defer
	Reason   string    // somebody's own words
}

// ErrAnswer says that the response is not a valid answer.
var ErrAnswer = errors.New("the eligibility hook's answer is not valid: it must be a JSON object with the decision " +
	"allow, defer (with until) or exclude")

// Read parses the body of an answer.
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

// plain removes characters that cannot be stored or shown.
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

// Verdict is the action for the contact.
type Verdict struct {
	Decision Decision
	Until    time.Time // of Defer
	Code     string    // for Defer: engine.CodeNotEligible, or CodeEligibilityUnknown without an answer
	Reason   string    // of Exclude
}

// Stricter combines two verdicts: exclude wins, and a contact that must wait waits for both.
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

// Judge turns an answer, or its absence, into a verdict. closed says that without an answer nobody
// is called.
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
