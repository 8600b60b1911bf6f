package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
)

// SIPp plays the scenarios of bench/scenario/sip against a complete dialler. Each call is a
// contact's, so that it shows three things: the wire (SIPp's own checks and its trace), the stored
// attempt, and what happens to the contact.

const sipScenarios = "../bench/scenario/sip"

// sipRetryDelay is the retry delay of these campaigns: nothing is redialled within a test.
const sipRetryDelay = time.Hour

// sipCase is one call.
type sipCase struct {
	file     string   // of bench/scenario/sip, without .xml
	label    string   // distinguishes cases with the same file
	keys     []string // of the scenario: "name=value"
	args     []string // more of SIPp's
	trunk    map[string]any
	campaign map[string]any
	metadata map[string]any // variables of the contact
	dialout  bool           // not a contact's call, so that the world's ring timeout applies
	requests string         // what the trunk saw of the call: "INVITE ACK BYE"
	want     sipRow
	// through starts what stands between the dialler and SIPp; it returns the port that the trunk has.
	through func(*sipCall) int
	// before waits until the trunk can be called, meanwhile acts while the call is live, then
	// checks at its end.
	before, meanwhile, then func(*sipCall)
}

// sipRow is the expected stored row. Zero: 0, empty, no.
type sipRow struct {
	outcome engine.Outcome
	code    int
	q850    int
	by      engine.Party
	free    bool // the attempt is not consumed
	retry   sipRetry
	after   time.Duration // at least that long after the end, when it is redialled
	before  time.Duration // less than that, unless 0
}

// sipRetry is what happens to the contact.
type sipRetry int

const (
	retryLater sipRetry = iota // after Retry Delay
	retrySoon                  // unchanged, after a back-off
	retryNever                 // final
)

// sipCall is the call of a case.
type sipCall struct {
	*world
	*sipCase
	sipp       *sipp
	to         string
	id         engine.AttemptID
	contact    engine.ContactID // "" for a dialout, as is the campaign
	campaignID engine.CampaignID
	row        attempt.Attempt // once it ended
}

func (c *sipCase) name() string { return strings.TrimSpace(c.file + " " + c.label) }

func (c *sipCall) leg() string { return string(c.id.Leg(1)) }

// play starts the scenario of a case.
func play(t *testing.T, c *sipCase) *sipp {
	t.Helper()
	args := c.args
	for _, k := range c.keys {
		name, value, _ := strings.Cut(k, "=")
		args = append(args, "-key", name, value)
	}
	file := filepath.Join(sipScenarios, c.file+".xml")
	if c.through == nil {
		return startSippFile(t, file, args...)
	}
	// The route that a proxy recorded goes back in the answers (RFC 3261 §12.1.1).
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("[last_CSeq:]"), []byte("[last_CSeq:]\n      [last_Record-Route:]"))
	file = filepath.Join(t.TempDir(), c.file+".xml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return startSippFile(t, file, args...)
}

// run plays cases one after the other, each on a trunk and in a campaign of
// its own; no other trunk is up meanwhile.
func (w *world) run(cases []sipCase) {
	t := w.t
	for i := range cases {
		c := &cases[i]
		t.Run(c.name(), func(t *testing.T) {
			own := *w
			own.t = t
			own.place(c)
		})
	}
}

func (w *world) place(c *sipCase) {
	w.t.Helper()
	call := sipCall{world: w, sipCase: c, sipp: play(w.t, c), to: newNumber()}
	// A trunk's failures in one case do not count against the next.
	name := fmt.Sprintf("sipp-%d", call.sipp.port)
	trunk := map[string]any{}
	for k, v := range c.trunk {
		if text, ok := v.(string); ok { // PORT is SIPp's
			v = strings.ReplaceAll(text, "PORT", strconv.Itoa(call.sipp.port))
		}
		trunk[k] = v
	}
	port := call.sipp.port
	if c.through != nil {
		port = c.through(&call)
	}
	w.trunk(name, "127.0.0.1", port, trunk)
	hold := func() { // prevents redials; the next case has its own hold
		trunk["active"] = false
		w.trunk(name, "127.0.0.1", port, trunk)
	}
	defer hold()
	if c.before != nil {
		c.before(&call)
	}
	var id engine.CampaignID
	if c.dialout {
		call.id, _ = w.dialout(call.to).Attempt()
	} else {
		settings := map[string]any{"max_attempts": 2, "retry_delay_s": int(sipRetryDelay / time.Second)}
		for k, v := range c.campaign {
			settings[k] = v
		}
		id = w.running(settings)
		rep := w.trigger(id, call.to, c.metadata)
		if rep.Status != "dialled" {
			w.t.Fatalf("triggered: %+v", rep)
		}
		call.id, call.contact, call.campaignID = rep.AttemptID, rep.ContactID, id
	}
	if c.meanwhile != nil {
		c.meanwhile(&call)
	}
	w.ended(call.id.Call(), c.want.outcome)
	hold()
	call.sipp.satisfied()
	eventually(w.t, "its leg is over", func() bool {
		call.row = w.stored(call.id.Call())
		return !call.row.OpenLeg()
	})
	call.checkRow()
	if !c.dialout {
		call.checkContact()
		w.act(id, "stop").expect(200)
	}
	if c.then != nil {
		c.then(&call)
	}
	w.quiet()
}

func (c *sipCall) checkRow() {
	c.t.Helper()
	a, leg := &c.row, c.leg()
	requests, invited := c.sipp.requests(leg)
	if requests != c.requests || len(invited) != 1 || invited[0] != leg {
		c.t.Errorf("the trunk saw %q of %s and calls %v, want %q", requests, leg, invited, c.sipCase.requests)
	}
	if len(a.Legs) != 1 || a.EndedAt == nil || a.InviteAt == nil {
		c.t.Errorf("legs of an ended call: %+v, invited %v, ended %v", a.Legs, a.InviteAt, a.EndedAt)
	}
	if a.SIPCode != c.want.code || a.Q850 != c.want.q850 || a.Consumed == c.want.free || a.HungUpBy != c.want.by {
		c.t.Errorf("row: SIP %d %q, cause %d, consumed %v, hung up by %s; want %+v", a.SIPCode, a.SIPReason, a.Q850,
			a.Consumed, a.HungUpBy, c.want)
	}
}

func (c *sipCall) checkContact() {
	c.t.Helper()
	var p contact.Contact
	eventually(c.t, "the contact's attempt is over", func() bool {
		var ok bool
		var err error
		p, ok, err = c.p.store.ContactByID(context.Background(), c.contact)
		if err != nil || !ok {
			c.t.Fatalf("the contact is not stored: %v", err)
		}
		return p.Attempt == ""
	})
	used := 1
	if c.want.free {
		used = 0
	}
	if p.Used != used || p.LastOutcome != c.want.outcome {
		c.t.Errorf("the contact used %d attempts, the last %s; want %d and %s", p.Used, p.LastOutcome, used, c.want.outcome)
	}
	wait := time.Duration(-1)
	if p.DueAt != nil {
		wait = p.DueAt.Sub(*c.row.EndedAt)
	}
	ok := false
	switch c.want.retry {
	case retryNever:
		ok = p.DueAt == nil
	case retrySoon:
		ok = p.DueAt != nil && wait <= max(time.Minute, c.want.after)
	case retryLater:
		ok = p.DueAt != nil && wait >= sipRetryDelay-time.Millisecond
	}
	if c.want.before > 0 {
		ok = ok && wait < c.want.before
	}
	if !ok || p.DueAt != nil && wait < c.want.after-time.Millisecond {
		c.t.Errorf("the contact is %s (%s), due %v after the call, want %+v", p.State, p.Reason, wait, c.want)
	}
}
