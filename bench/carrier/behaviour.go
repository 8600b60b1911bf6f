package carrier

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"dialler/bench/carrier/media"
	"dialler/bench/draw"
	"dialler/bench/voice"
)

// Kind is the behaviour of a called number.
type Kind string

// The kinds of callee.
const (
	Human    Kind = "human"     // answers with a short hello, then listens
	Machine  Kind = "machine"   // answers with a greeting and a beep
	Fax      Kind = "fax"       // answers with CED and V.21 flags
	SIT      Kind = "sit"       // answers with special information tones and a notice
	Quiet    Kind = "quiet"     // answers and says nothing (line noise)
	Refuse   Kind = "refuse"    // refuses with Code
	NoAnswer Kind = "no_answer" // rings until CANCEL
	Silent   Kind = "silent"    // the INVITE is lost: no response at all
)

// Progress is the signalling while the phone rings.
type Progress string

// The ways of ringing.
const (
	Ringing    Progress = "ringing"     // 180
	EarlyMedia Progress = "early_media" // 183 with SDP and Early's sound
	NoProgress Progress = "none"        // nothing between 100 and the final response
)

// EarlySIT is Behaviour.Early for a number out of service.
const EarlySIT = "sit"

// Cancel is what becomes of a CANCEL.
type Cancel string

// The ways of a CANCEL that does not end the ringing. With CancelRace the callee picks up when it comes.
const (
	CancelUnknown Cancel = "unknown" // 481: the network knows the INVITE no more, and the phone rings on
	CancelLost    Cancel = "lost"    // it gets lost, and the phone rings on
)

// DTMF is how keys are sent.
type DTMF string

// The ways of keys; "" is telephone-event (RFC 4733).
const (
	DTMFInband DTMF = "inband" // tones in the audio; telephone-event is not agreed
)

// Behaviour defines one call. The zero value of every span is "at once", so Behaviour{Kind: Human}
// sends 100, 180 and 200 back to back.
type Behaviour struct {
	Kind   Kind    `json:"kind"`
	Weight float64 `json:"weight,omitempty"` // weight in a profile; any scale

	Trying   draw.Span `json:"trying,omitzero"` // INVITE to 100
	NoTrying bool      `json:"no_trying,omitempty"`
	// Progress defaults to Ringing, to NoProgress for Refuse, and to EarlyMedia with Early.
	Progress Progress `json:"progress,omitempty"`
	// Early is what is heard before the answer: a ringback tone (""), special information tones and a
	// notice ("sit"), or a WAV file.
	Early string    `json:"early,omitempty"`
	Post  draw.Span `json:"post,omitzero"` // post-dial delay: INVITE to 180 or 183
	// Ring is the time from 180 to the final response. A NoAnswer with a Ring ends with Code (480
	// if 0) after it, instead of waiting for CANCEL.
	Ring draw.Span `json:"ring,omitzero"`

	// Code, Reason and Q850 are the refusal: status, phrase, and cause of a Reason header (RFC
	// 3326). 0 and "" mean the defaults of the Kind.
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	Q850   int    `json:"q850,omitempty"`
	// Headers are added to the final response: Retry-After, Contact of a
	// 3xx, Min-SE, X-Twilio-Error; Session-Expires of a 200.
	Headers map[string]string `json:"headers,omitempty"`

	// CancelRace lets the callee pick up just before a CANCEL arrives; the 200 of the INVITE
	// crosses it.
	CancelRace bool `json:"cancel_race,omitempty"`
	// Cancel is what a CANCEL is answered; "" by the book.
	Cancel Cancel `json:"cancel,omitempty"`
	// LostByes is how many BYEs of the caller's get lost, copies of one too, before one is heard.
	LostByes int `json:"lost_byes,omitempty"`
	// Reliable sends the 180 or 183 reliably (RFC 3262); nothing further is
	// sent before its PRACK.
	Reliable bool `json:"reliable,omitempty"`

	// Forks is the number of further phones that pick up at the same moment: each sends its own
	// 200, with another To tag, and must get ACK and BYE (RFC 3261 §13.2.2.4).
	Forks int `json:"forks,omitempty"`

	// Talk is the time from the answer to the callee's BYE; zero waits for the caller's BYE.
	Talk draw.Span `json:"talk,omitzero"`
	// Hold, if set, is the time from the answer to our re-INVITE with a=sendonly.
	Hold draw.Span `json:"hold,omitzero"`

	// Chatter, if set, is the pause after the first words, after which the callee speaks for the
	// rest of the call; otherwise it listens.
	Chatter draw.Span `json:"chatter,omitzero"`
	// Recording is a WAV file (8000 Hz, mono, 16-bit linear or G.711) that the callee plays once
	// instead of the kind's own words. It starts with the caller's ACK, before which nothing is
	// sent, so that all of it is heard; digital silence follows.
	Recording string `json:"recording,omitempty"`
	// Digits are pressed Press after the answer, as DTMF says.
	Digits string    `json:"digits,omitempty"`
	Press  draw.Span `json:"press,omitzero"`
	DTMF   DTMF      `json:"dtmf,omitempty"`
	// Mute sends no RTP at all: one-way audio, towards the callee only.
	Mute bool `json:"mute,omitempty"`
	// Deaf announces a=sendonly: one-way audio, from the callee only.
	Deaf bool `json:"deaf,omitempty"`

	// What real carriers do, and the book does not say.
	//
	// AnswerIn183 leaves SDP out of the 200: the 183's was the answer.
	AnswerIn183 bool `json:"answer_in_183,omitempty"`
	// ContactUnreachable has the 200 name a Contact at which nobody is.
	ContactUnreachable bool `json:"contact_unreachable,omitempty"`
	// Update sends an UPDATE with an offer right behind the 200.
	Update bool `json:"update,omitempty"`
	// Path is what the network does to the callee's audio.
	Path media.Path `json:"path,omitzero"`
}

// Refusal returns a Refuse with a code, a phrase ("" for the default) and a Q.850 cause (0 for no
// Reason header).
func Refusal(code int, reason string, q850 int) Behaviour {
	return Behaviour{Kind: Refuse, Code: code, Reason: reason, Q850: q850}
}

// Busy returns 486 with cause 17.
func Busy() Behaviour { return Refusal(486, "", 17) }

// headerLines returns the extra headers, in a fixed order.
func (b *Behaviour) headerLines() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.Headers)) {
		out.WriteString(name + ": " + b.Headers[name] + "\r\n")
	}
	return out.String()
}

// answers says whether the kind picks up.
func (k Kind) answers() bool {
	switch k {
	case Human, Machine, Fax, SIT, Quiet:
		return true
	case Refuse, NoAnswer, Silent:
		return false
	}
	return false
}

func (b *Behaviour) validate() error {
	switch b.Kind {
	case Human, Machine, Fax, SIT, Quiet, NoAnswer, Silent:
	case Refuse:
		if b.Code < 300 || b.Code > 699 {
			return fmt.Errorf("behaviour refuse: code %d is not a final refusal; give 300 to 699", b.Code)
		}
	default:
		return fmt.Errorf("behaviour kind %q is unknown; use human, machine, fax, sit, quiet, refuse, no_answer or silent",
			b.Kind)
	}
	switch b.Progress {
	case "", Ringing, EarlyMedia, NoProgress:
	default:
		return fmt.Errorf("behaviour progress %q is unknown; use ringing, early_media or none", b.Progress)
	}
	switch b.Cancel {
	case "", CancelUnknown, CancelLost:
	default:
		return fmt.Errorf("behaviour cancel %q is unknown; use unknown or lost, or leave it out", b.Cancel)
	}
	switch b.DTMF {
	case "", DTMFInband:
	default:
		return fmt.Errorf("behaviour dtmf %q is unknown; use inband or leave it out", b.DTMF)
	}
	if b.AnswerIn183 && b.progress() != EarlyMedia {
		return errors.New("behaviour answer_in_183: give it progress early_media")
	}
	if err := b.Path.Validate(); err != nil {
		return fmt.Errorf("behaviour %w", err)
	}
	if b.Recording != "" {
		if !b.Kind.answers() {
			return fmt.Errorf("behaviour %s: only a callee that answers plays a recording", b.Kind)
		}
		if _, err := voice.ReadWAV(b.Recording); err != nil {
			return fmt.Errorf("behaviour recording: %w", err)
		}
	}
	if b.Early != "" && b.Early != EarlySIT {
		if _, err := voice.ReadWAV(b.Early); err != nil {
			return fmt.Errorf("behaviour early: %w", err)
		}
	}
	for i := range len(b.Digits) {
		if media.DigitEvent(b.Digits[i]) < 0 {
			return fmt.Errorf("behaviour digits %q: only 0-9, *, # and A-D exist", b.Digits)
		}
	}
	return nil
}

func (b *Behaviour) progress() Progress {
	switch {
	case b.Progress != "":
		return b.Progress
	case b.Early != "":
		return EarlyMedia
	case b.Kind == Refuse:
		return NoProgress
	}
	return Ringing
}

// Mix describes a profile by figures that operators know.
type Mix struct {
	AnswerRate   float64 `json:"answer_rate"`             // of all calls
	MachineShare float64 `json:"machine_share,omitempty"` // of the answered
	FaxShare     float64 `json:"fax_share,omitempty"`     // of the answered
	// Fractions of all calls; those left after these and the answered ones are no_answer.
	Busy        float64   `json:"busy,omitempty"`          // 486
	Invalid     float64   `json:"invalid,omitempty"`       // 404
	Unavailable float64   `json:"unavailable,omitempty"`   // 480
	Congestion  float64   `json:"congestion,omitempty"`    // 503
	Rejected    float64   `json:"rejected,omitempty"`      // 603
	Silent      float64   `json:"silent,omitempty"`        // no response at all
	EarlyMedia  float64   `json:"early_media,omitempty"`   // of those that ring
	HangUpShare float64   `json:"hang_up_share,omitempty"` // of the humans; the others wait for the caller's BYE
	Post        draw.Span `json:"post,omitzero"`
	Ring        draw.Span `json:"ring,omitzero"`
	Talk        draw.Span `json:"talk,omitzero"` // of humans that hang up
}

func (m *Mix) validate() error {
	of := m.AnswerRate + m.Busy + m.Invalid + m.Unavailable + m.Congestion + m.Rejected + m.Silent
	for _, share := range []float64{
		m.AnswerRate, m.MachineShare, m.FaxShare, m.Busy, m.Invalid, m.Unavailable, m.Congestion,
		m.Rejected, m.Silent, m.EarlyMedia, m.HangUpShare, m.MachineShare + m.FaxShare,
	} {
		if share < 0 || share > 1 {
			return errors.New("mix: shares lie between 0 and 1")
		}
	}
	if of > 1+1e-9 {
		return fmt.Errorf("mix: the shares of all calls add up to %.3f, more than 1", of)
	}
	return nil
}

// machinePatience is the time from the answer to a machine's own BYE, because a mailbox records for
// a while.
var machinePatience = draw.Between(40*time.Second, 90*time.Second)

// Profile converts the figures to weighted behaviours.
func (m Mix) Profile() []Behaviour {
	human := m.AnswerRate * max(0, 1-m.MachineShare-m.FaxShare)
	rest := max(0, 1-m.AnswerRate-m.Busy-m.Invalid-m.Unavailable-m.Congestion-m.Rejected-m.Silent)
	base := []Behaviour{
		{Kind: Human, Weight: human * m.HangUpShare, Ring: m.Ring, Talk: m.Talk},
		{Kind: Human, Weight: human * (1 - m.HangUpShare), Ring: m.Ring},
		{Kind: Machine, Weight: m.AnswerRate * m.MachineShare, Ring: m.Ring, Talk: machinePatience},
		{Kind: Fax, Weight: m.AnswerRate * m.FaxShare, Ring: m.Ring},
		{Kind: NoAnswer, Weight: rest},
	}
	var out []Behaviour
	for _, b := range base {
		loud, quiet := b, b
		loud.Progress, loud.Weight = EarlyMedia, b.Weight*m.EarlyMedia
		quiet.Weight = b.Weight * (1 - m.EarlyMedia)
		out = append(out, quiet, loud)
	}
	for _, r := range []struct {
		share      float64
		code, q850 int
	}{{m.Busy, 486, 17}, {m.Invalid, 404, 1}, {m.Unavailable, 480, 20}, {m.Congestion, 503, 34}, {m.Rejected, 603, 21}} {
		b := Refusal(r.code, "", r.q850)
		b.Weight = r.share
		out = append(out, b)
	}
	out = append(out, Behaviour{Kind: Silent, Weight: m.Silent})
	kept := out[:0]
	for _, b := range out {
		if b.Weight > 0 {
			b.Post = m.Post
			kept = append(kept, b)
		}
	}
	return kept
}

// pick draws a behaviour from a profile.
func pick(r *rand.Rand, profile []Behaviour) *Behaviour {
	i := draw.Index(r, len(profile), func(i int) float64 { return profile[i].Weight })
	if i < 0 {
		i = r.IntN(len(profile)) // no weights: all equally likely
	}
	return &profile[i]
}

// phrases are the standard reason phrases and Q.850 texts.
var phrases = map[int]string{
	100: "Trying", 180: "Ringing", 183: "Session Progress", 200: "OK",
	300: "Multiple Choices", 301: "Moved Permanently", 302: "Moved Temporarily", 305: "Use Proxy",
	400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
	405: "Method Not Allowed", 407: "Proxy Authentication Required", 408: "Request Timeout", 410: "Gone",
	415: "Unsupported Media Type", 416: "Unsupported URI Scheme", 420: "Bad Extension",
	421: "Extension Required", 422: "Session Interval Too Small", 423: "Interval Too Brief",
	429: "Provide Referrer Identity", 480: "Temporarily Unavailable", 481: "Call/Transaction Does Not Exist",
	482: "Loop Detected", 484: "Address Incomplete", 485: "Ambiguous", 486: "Busy Here",
	487: "Request Terminated", 488: "Not Acceptable Here", 491: "Request Pending", 494: "Security Agreement Required",
	500: "Server Internal Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
	504: "Server Time-out", 580: "Precondition Failure", 600: "Busy Everywhere", 603: "Decline",
	604: "Does Not Exist Anywhere", 606: "Not Acceptable", 607: "Unwanted", 608: "Rejected",
}

var causes = map[int]string{
	1: "Unallocated number", 3: "No route to destination", 16: "Normal call clearing", 17: "User busy",
	18: "No user responding", 19: "No answer from user", 20: "Subscriber absent", 21: "Call rejected",
	22: "Number changed", 27: "Destination out of order", 28: "Invalid number format", 31: "Normal, unspecified",
	34: "No circuit available", 38: "Network out of order", 41: "Temporary failure", 42: "Switching equipment congestion",
	44: "Requested circuit not available", 47: "Resource unavailable", 88: "Incompatible destination",
	102: "Recovery on timer expiry", 127: "Interworking, unspecified",
}
