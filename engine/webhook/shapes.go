package webhook

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/contact"
)

// BodyCap is a length, in bytes, that no body reaches.
const BodyCap = 20_000

// Message is a message, sent once to each endpoint that wants it.
type Message struct {
	ID       string // webhook-id
	Type     string
	At       time.Time
	Campaign engine.CampaignID // "" for a dialout
	// Subject is the contact, or for a dialout the attempt, whose person it is about; "" if it is
	// about nobody.
	Subject string
	// URL is where it goes if that is not the address of its endpoint.
	URL  string
	Body []byte // JSON
}

// To is the message for an address that a request named.
func (m Message) To(address string) Message {
	m.ID, m.URL = messageID(m.ID+"|"+StatusCallback), address
	return m
}

// shape is the data of a message; vars are the contact's variables in it, some of which are left
// out if they do not fit.
type shape struct {
	data    any
	vars    *variables
	subject string
}

type variables struct {
	Variables map[string]string `json:"variables"`
	// Omitted counts the variables that did not fit into the message.
	Omitted int `json:"variables_omitted,omitempty"`
}

type envelope struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

func (k *Kind) message(f *Fact) Message {
	s, at := k.data(f), f.At
	if k.at != nil && f.Call != nil {
		if own := k.at(f.Call); own != nil {
			at = *own
		}
	}
	return Message{ID: identify(f, k.Name), Type: k.Name, At: at, Campaign: f.Campaign, Subject: s.subject,
		Body: body(k.Name, at, s)}
}

// PingMessage is a message without content; unique makes its identifier.
func PingMessage(e EndpointID, at time.Time, unique string) Message {
	data := struct {
		Endpoint EndpointID `json:"webhook_id"`
	}{e}
	return Message{ID: messageID(unique), Type: Ping, At: at, Body: body(Ping, at, shape{data: data})}
}

func identify(f *Fact, kind string) string {
	return messageID(fmt.Sprintf("%s|%d|%d|%s|%s|%s|%d|%s", f.Campaign, f.Run, f.Seq, f.Type, f.Contact, f.Attempt,
		f.At.UnixMicro(), kind))
}

func messageID(unique string) string {
	sum := sha256.Sum256([]byte(unique))
	return "msg_" + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
}

// body writes a message; if it gets too long, the longest variables are left out.
func body(name string, at time.Time, s shape) []byte {
	e := envelope{Type: name, Timestamp: at.UTC().Truncate(time.Microsecond), Data: s.data}
	b := e.write()
	if len(b) < BodyCap || s.vars == nil {
		return b
	}
	names := slices.SortedFunc(maps.Keys(s.vars.Variables), func(x, y string) int {
		return cmp.Or(-cmp.Compare(written(x, s.vars.Variables[x]), written(y, s.vars.Variables[y])), cmp.Compare(x, y))
	})
	over := len(b) - BodyCap + len(`,"variables_omitted":00`)
	for _, n := range names {
		if over < 0 {
			break
		}
		over -= written(n, s.vars.Variables[n])
		delete(s.vars.Variables, n)
		s.vars.Omitted++
	}
	return e.write()
}

// write does not escape <, > and &, since URLs are read by people.
func (e *envelope) write() []byte {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	_ = w.Encode(e) // never fails for strings, numbers and times
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// written is an upper bound of the bytes that a variable takes in a body.
func written(name, value string) int {
	n, _ := json.Marshal(name)
	v, _ := json.Marshal(value)
	return len(n) + len(v) + 1
}

// Limits of foreign texts, in bytes as they are written.
const (
	textCap    = 1000
	summaryCap = 4000
)

func clipped(s string, limit int) string {
	if len(s)*6 <= limit { // the longest escape of a byte
		return s
	}
	n := 0
	for i, c := range s {
		switch {
		case c < ' ' || c == '\u2028' || c == '\u2029' || c == utf8.RuneError:
			n += 6
		case c == '"' || c == '\\':
			n += 2
		default:
			n += utf8.RuneLen(c)
		}
		if n > limit {
			return s[:i] + "…"
		}
	}
	return s
}

type campaignData struct {
	Sequence int64             `json:"sequence,omitempty"`
	Campaign engine.CampaignID `json:"campaign_id"`
	Run      int               `json:"run"`
	Reason   string            `json:"reason,omitempty"`
	By       string            `json:"by,omitempty"`
}

func campaignShape(f *Fact) shape {
	d := &campaignData{Sequence: f.Seq, Campaign: f.Campaign, Run: f.Run, Reason: clipped(f.Data.Reason, textCap)}
	if w := f.Data.Who; w != nil {
		d.By = clipped(w.Name, textCap)
	}
	return shape{data: d}
}

type contactsData struct {
	Sequence int64             `json:"sequence,omitempty"`
	Campaign engine.CampaignID `json:"campaign_id"`
	Run      int               `json:"run"`
	Count    int               `json:"count"`
	Import   engine.ImportID   `json:"import_id,omitempty"`
	States   map[string]int    `json:"states,omitempty"` // contacts.closed: number of contacts by new state
}

func contactsShape(f *Fact) shape {
	d := &contactsData{Sequence: f.Seq, Campaign: f.Campaign, Run: f.Run, Count: f.Data.Count, Import: f.Data.Import}
	for _, m := range f.Data.Moves {
		if m.After == nil {
			continue
		}
		if d.States == nil {
			d.States = map[string]int{}
		}
		d.States[m.After.State.Shown()] += m.Count
		d.Count += m.Count
	}
	return shape{data: d}
}

type attemptData struct {
	Sequence int64             `json:"sequence,omitempty"`
	Attempt  engine.AttemptID  `json:"attempt_id"`
	Call     engine.CallID     `json:"call_id"`
	Campaign engine.CampaignID `json:"campaign_id,omitempty"`
	Contact  engine.ContactID  `json:"contact_id,omitempty"`
	Run      int               `json:"run,omitempty"`
	Pass     int               `json:"pass,omitempty"`
	Number   int               `json:"attempt_number,omitempty"`
	Bot      engine.BotID      `json:"bot_id,omitempty"`
	To       string            `json:"to_number,omitempty"`
	From     string            `json:"from_number,omitempty"`
	Trunk    engine.TrunkID    `json:"trunk,omitempty"`
	Callback bool              `json:"callback"`
	// Outcome is nil while it is not final: for an ended attempt AwaitingResult then says so, and
	// result.stored or result.timed_out reports it.
	Outcome        *engine.Outcome     `json:"outcome"`
	AwaitingResult bool                `json:"awaiting_result"`
	Cause          engine.AbandonCause `json:"abandon_cause,omitempty"`
	Consumed       bool                `json:"consumed"`
	Answered       bool                `json:"answered"`
	Connected      bool                `json:"connected"`
	SIPCode        int                 `json:"sip_code,omitempty"`
	SIPReason      string              `json:"sip_reason,omitempty"`
	HungUpBy       engine.Party        `json:"hung_up_by,omitempty"`
	Verdict        engine.Verdict      `json:"amd_verdict,omitempty"`
	Session        engine.SessionID    `json:"session_id,omitempty"`
	RingMS         int64               `json:"ring_ms"`
	TalkMS         int64               `json:"talk_ms"`
	Reserved       *time.Time          `json:"reserved_at,omitempty"`
	Invited        *time.Time          `json:"invite_at,omitempty"`
	RingAt         *time.Time          `json:"ringing_at,omitempty"`
	AnswerAt       *time.Time          `json:"answered_at,omitempty"`
	BotAt          *time.Time          `json:"bot_connected_at,omitempty"`
	Ended          *time.Time          `json:"ended_at,omitempty"`
	// NextDialAt is when the contact is dialled again, when it is.
	NextDialAt *time.Time `json:"next_dial_at,omitempty"`
	variables
}

func attemptShape(f *Fact) shape {
	e := &f.Data
	d := &attemptData{
		Sequence:   f.Seq,
		Attempt:    f.Attempt,
		Call:       f.Attempt.Call(),
		Campaign:   f.Campaign,
		Contact:    f.Contact,
		Run:        f.Run,
		Pass:       e.Pass,
		Number:     e.Number,
		Cause:      e.Cause,
		Consumed:   e.Consumed,
		Answered:   e.Answered,
		Connected:  e.Connected,
		Trunk:      e.Trunk,
		SIPCode:    e.SIPCode,
		Verdict:    e.Verdict,
		RingMS:     e.RingMS,
		TalkMS:     e.TalkMS,
		Reserved:   e.ReservedAt,
		NextDialAt: e.DueAt,
	}
	if d.AwaitingResult = e.AwaitsResult; e.Outcome != "" && !e.AwaitsResult {
		d.Outcome = &e.Outcome
	}
	var own map[string]string
	if a := f.Call; a != nil {
		d.Bot, d.To, d.From, d.Callback, d.HungUpBy, d.Session =
			a.Bot, shown(a.To), shown(a.From), a.Callback, a.HungUpBy, a.Session
		d.SIPReason, d.Reserved, d.Invited, d.RingAt, d.AnswerAt, d.BotAt =
			clipped(a.SIPReason, 200), a.ReservedAt, a.InviteAt, a.RingingAt, a.AnsweredAt, a.BotConnectedAt
		if e.Outcome != "" { // the event is the end
			d.Ended = a.EndedAt
		} else {
			d.Answered = a.AnsweredAt != nil
		}
		own = a.Variables
	}
	if f.Person != nil {
		own = f.Person.Variables
	}
	d.variables = told(own)
	return shape{data: d, vars: &d.variables, subject: Subject(f)}
}

// stage is how far a call has come.
type stage int

const (
	stageInitiated stage = iota + 1
	stageRinging
	stageAnswered
	stageBridged
	stageEnded
)

// sequence orders what is told of a call: by the campaign's sequence, which also orders it among its contact's
// other calls, and outside campaigns by the stages themselves, each of which comes once.
func (s stage) sequence(f *Fact) int64 {
	if f.Campaign == "" {
		return int64(s)
	}
	return f.Seq
}

type callData struct {
	Sequence int64             `json:"sequence"`
	Attempt  engine.AttemptID  `json:"attempt_id"`
	Call     engine.CallID     `json:"call_id"`
	Campaign engine.CampaignID `json:"campaign_id,omitempty"`
	Contact  engine.ContactID  `json:"contact_id,omitempty"`
	Run      int               `json:"run,omitempty"`
	Pass     int               `json:"pass,omitempty"`
	Number   int               `json:"attempt_number,omitempty"`
	Bot      engine.BotID      `json:"bot_id,omitempty"`
	To       string            `json:"to_number,omitempty"`
	From     string            `json:"from_number,omitempty"`
	Trunk    engine.TrunkID    `json:"trunk,omitempty"`
	Callback bool              `json:"callback"`
	RingMS   *int64            `json:"ring_ms,omitempty"`
	Verdict  engine.Verdict    `json:"amd_verdict,omitempty"`
	Session  engine.SessionID  `json:"session_id,omitempty"`
	Reserved *time.Time        `json:"reserved_at,omitempty"`
	Invited  *time.Time        `json:"invite_at,omitempty"`
	RingAt   *time.Time        `json:"ringing_at,omitempty"`
	AnswerAt *time.Time        `json:"answered_at,omitempty"`
	BotAt    *time.Time        `json:"bot_connected_at,omitempty"`
	variables
}

// progress tells of a call that has come to a stage what was known then: its row may know more by now.
func progress(s stage) func(*Fact) shape {
	return func(f *Fact) shape {
		a := f.Call // never nil for these types
		d := &callData{
			Sequence: s.sequence(f),
			Attempt:  f.Attempt,
			Call:     f.Attempt.Call(),
			Campaign: f.Campaign,
			Contact:  f.Contact,
			Run:      f.Run,
			Pass:     a.Pass,
			Number:   cmp.Or(f.Data.Number, a.Number),
			Bot:      a.Bot,
			To:       shown(a.To),
			From:     shown(a.From),
			Trunk:    f.Data.Trunk,
			Callback: a.Callback,
			Reserved: a.ReservedAt,
		}
		if s >= stageRinging {
			d.Invited, d.RingAt = a.InviteAt, a.RingingAt
		}
		if s >= stageAnswered {
			ring := a.Ring().Milliseconds()
			d.RingMS, d.AnswerAt = &ring, a.AnsweredAt
		}
		if s >= stageBridged {
			d.Verdict, d.Session, d.BotAt = f.Data.Verdict, a.Session, a.BotConnectedAt
		}
		own := a.Variables
		if f.Person != nil {
			own = f.Person.Variables
		}
		d.variables = told(own)
		return shape{data: d, vars: &d.variables, subject: Subject(f)}
	}
}

// callEndedShape is the end of a call, of a campaign or outside, in the order of its stages.
func callEndedShape(f *Fact) shape {
	s := attemptShape(f)
	d := s.data.(*attemptData) //nolint:forcetypeassert // it is one
	d.Sequence = stageEnded.sequence(f)
	return s
}

type resultData struct {
	Sequence       int64             `json:"sequence,omitempty"`
	Attempt        engine.AttemptID  `json:"attempt_id"`
	Call           engine.CallID     `json:"call_id"`
	Campaign       engine.CampaignID `json:"campaign_id,omitempty"`
	Contact        engine.ContactID  `json:"contact_id,omitempty"`
	Run            int               `json:"run,omitempty"`
	To             string            `json:"to_number,omitempty"`
	Outcome        engine.Outcome    `json:"outcome,omitempty"`
	Disposition    string            `json:"disposition,omitempty"`
	SubDisposition string            `json:"sub_disposition,omitempty"`
	Summary        string            `json:"summary,omitempty"`
	DoNotCall      bool              `json:"do_not_call"`
	TranscriptURL  string            `json:"transcript_url,omitempty"`
	RecordingURL   string            `json:"recording_url,omitempty"`
	variables                        // of the result
}

func resultShape(f *Fact) shape {
	d := &resultData{
		Sequence:    f.Seq,
		Attempt:     f.Attempt,
		Call:        f.Attempt.Call(),
		Campaign:    f.Campaign,
		Contact:     f.Contact,
		Run:         f.Run,
		Outcome:     f.Data.Outcome,
		Disposition: clipped(f.Data.Disposition, textCap),
		variables:   told(nil),
	}
	if a := f.Call; a != nil {
		d.To = shown(a.To)
		if r := a.Result; r != nil {
			d.SubDisposition, d.Summary, d.DoNotCall = clipped(r.SubDisposition, textCap), clipped(r.Summary,
				summaryCap), r.DoNotCall
			d.TranscriptURL, d.RecordingURL = clipped(r.TranscriptURL, textCap), clipped(r.RecordingURL, textCap)
			d.variables = told(r.Variables)
		}
	}
	return shape{data: d, vars: &d.variables, subject: Subject(f)}
}

type contactData struct {
	Sequence    int64             `json:"sequence,omitempty"`
	Contact     engine.ContactID  `json:"contact_id"`
	Campaign    engine.CampaignID `json:"campaign_id"`
	Run         int               `json:"run"`
	Number      string            `json:"phone_number,omitempty"`
	State       string            `json:"state"`
	Reason      string            `json:"reason,omitempty"`
	Attempts    int               `json:"attempts"`
	MaxAttempts int               `json:"max_attempts"`
	Attempt     engine.AttemptID  `json:"attempt_id,omitempty"` // the attempt that led here
	Outcome     engine.Outcome    `json:"last_outcome,omitempty"`
	Disposition string            `json:"last_disposition,omitempty"`
	CallbackAt  *time.Time        `json:"callback_at,omitempty"`
	variables
}

func contactShape(f *Fact) shape {
	d := &contactData{
		Sequence:    f.Seq,
		Contact:     f.Contact,
		Campaign:    f.Campaign,
		Run:         f.Run,
		Reason:      clipped(f.Data.Reason, textCap),
		Attempt:     f.Attempt,
		Outcome:     f.Data.Outcome,
		Disposition: clipped(f.Data.Disposition, textCap),
	}
	if a := f.Data.After; a != nil {
		d.State, d.Attempts, d.MaxAttempts = a.State.Shown(), a.Used, a.Max
		if a.Callback == contact.CallbackPending {
			d.CallbackAt = f.Data.DueAt
		}
	}
	var own map[string]string
	if c := f.Person; c != nil {
		d.Number, own = shown(c.Number), c.Variables
		d.Outcome = cmp.Or(d.Outcome, c.LastOutcome)
		d.Disposition = cmp.Or(d.Disposition, clipped(c.LastDisposition, textCap))
	}
	d.variables = told(own)
	return shape{data: d, vars: &d.variables, subject: Subject(f)}
}

// timedOutShape says that the outcome of the attempt without a result is final.
func timedOutShape(f *Fact) shape {
	s := contactShape(f)
	d := s.data.(*contactData) //nolint:forcetypeassert // it is one
	d.Attempt = cmp.Or(f.Data.NoResult, f.Attempt)
	d.Outcome, d.Disposition, d.Reason = engine.OutcomeConnectedNoResult, "", waitEnded(f)
	return s
}

// Subject is the contact, or outside campaigns the attempt, that a fact is about.
func Subject(f *Fact) string { return cmp.Or(string(f.Contact), string(f.Attempt)) }

// shown is a number in clear; an erased person has none.
func shown(n engine.PhoneNumber) string {
	if strings.HasPrefix(n.E164(), engine.ErasedPrefix) {
		return ""
	}
	return n.E164()
}

// told are the variables except the one that is a secret of the call.
func told(all map[string]string) variables {
	out := make(map[string]string, len(all))
	for k, v := range all {
		if k != engine.IdentityVariable {
			out[k] = v
		}
	}
	return variables{Variables: out}
}
