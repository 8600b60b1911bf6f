package carrier

import (
	"cmp"
	"slices"
	"time"

	"dialler/bench/carrier/media"
	"dialler/engine"
)

// State is the state of a call.
type State string

// The states of a call.
const (
	StateTrying   State = "trying"   // INVITE in, no ringing yet
	StateRinging  State = "ringing"  // 180 or 183 sent
	StateAnswered State = "answered" // 200 sent
	StateSilent   State = "silent"   // the INVITE vanished; no phone rings
	StateEnded    State = "ended"
)

// Party is one of the two parties of a call.
type Party string

// The two parties of a call, seen from the dialler's trunk.
const (
	Caller Party = "caller" // the dialler
	Callee Party = "callee" // the model
)

// Call is a row of the ledger: everything seen on the wire of one Call-ID. A Call-ID that is
// dialled again after its end gets another row with the next Incarnation.
type Call struct {
	CallID      string             `json:"call_id"`
	Incarnation int                `json:"incarnation"`
	Number      engine.PhoneNumber `json:"number"`
	From        engine.PhoneNumber `json:"from"`
	Transport   string             `json:"transport"` // udp, tcp
	Kind        Kind               `json:"kind,omitempty"`
	Nth         int                `json:"nth,omitempty"` // n-th admitted call to the number, from 1
	State       State              `json:"state"`

	Peer     string    `json:"peer,omitempty"` // host:port that the first INVITE came from
	InviteAt time.Time `json:"invite_at"`
	// LeftAt is when the INVITE reached this machine (UDP), by its wall clock; InviteAt is when it
	// was read.
	LeftAt     time.Time `json:"left_at,omitzero"`
	RingingAt  time.Time `json:"ringing_at,omitzero"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	AckAt      time.Time `json:"ack_at,omitzero"` // of the final response
	CancelAt   time.Time `json:"cancel_at,omitzero"`
	ByeAt      time.Time `json:"bye_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`

	// BeepAt is when a machine's beep begins; it is known once the call is answered.
	BeepAt time.Time `json:"beep_at,omitzero"`

	FinalCode int    `json:"final_code,omitempty"`
	Reason    string `json:"reason,omitempty"`
	ByeBy     Party  `json:"bye_by,omitempty"`
	ByeCode   int    `json:"bye_code,omitempty"` // response to the callee's BYE, 0 if there was none

	// ByeReason is the Reason header of the caller's BYE, or of its CANCEL.
	ByeReason string `json:"bye_reason,omitempty"`
	// Invite is the newest INVITE as received, when Config.KeepInvites is set.
	Invite string `json:"invite,omitempty"`

	// Invites counts INVITE transactions outside a dialog; AuthRetries and Renewals count those of
	// them that answered a 401/407, or a 3xx/422.
	Invites     int `json:"invites"`
	AuthRetries int `json:"auth_retries,omitempty"`
	Renewals    int `json:"renewals,omitempty"`
	// Retransmits counts copies of an INVITE. LateCopies are those that arrived more than T1 after
	// the ACK: no client transaction sends those, since the first response stops its Timer A (RFC
	// 3261 §17.1.1.2).
	Retransmits int  `json:"retransmits,omitempty"`
	LateCopies  int  `json:"late_copies,omitempty"`
	Reinvites   int  `json:"reinvites,omitempty"`
	AckMissing  bool `json:"ack_missing,omitempty"` // none within 64*T1

	// Unheard counts CANCELs and BYEs that changed nothing: they got lost, or were answered 481.
	Unheard int `json:"unheard,omitempty"`

	// Forks counts further phones that answered, ForksLive those of them that
	// the caller has not ended.
	Forks     int `json:"forks,omitempty"`
	ForksLive int `json:"forks_live,omitempty"`

	RTP media.Count `json:"rtp"`
	// Violations are the caller's violations of the SIP rules.
	Violations []string `json:"violations,omitempty"`
}

// Live says whether the call occupies a phone or may soon do so.
func (c *Call) Live() bool {
	return c.ForksLive > 0 || c.State == StateTrying || c.State == StateRinging || c.State == StateAnswered
}

// end is when the phone was free again; a call that has not ended extends to the end of time.
func (c *Call) end() time.Time {
	if c.EndedAt.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return c.EndedAt
}

// Overlap is a pair of simultaneous calls to one number.
type Overlap struct {
	Number engine.PhoneNumber `json:"number"`
	First  Call               `json:"first"`
	Second Call               `json:"second"`
	From   time.Time          `json:"from"`
	For    time.Duration      `json:"for_ns"`
}

// Duplicate is a Call-ID that was dialled more than once.
type Duplicate struct {
	CallID string             `json:"call_id"`
	Number engine.PhoneNumber `json:"number"`
	Why    string             `json:"why"`
}

// Summary contains totals of the ledger.
type Summary struct {
	Calls       int            `json:"calls"`
	Trying      int            `json:"trying"`
	Silent      int            `json:"silent"`
	Ringing     int            `json:"ringing"`
	Answered    int            `json:"answered"` // live now
	Ended       int            `json:"ended"`
	EverRang    int            `json:"ever_rang"`
	EverAnswer  int            `json:"ever_answered"`
	ByFinal     map[int]int    `json:"by_final_code"`
	ByKind      map[Kind]int   `json:"by_kind"`
	ByeBy       map[Party]int  `json:"bye_by"`
	Retransmits int            `json:"retransmits"`
	AckMissing  int            `json:"ack_missing"`
	Overlaps    int            `json:"overlaps"`
	Duplicates  int            `json:"duplicate_invites"`
	Violations  map[string]int `json:"violations"`
	RTPSent     int            `json:"rtp_sent"`
	RTPReceived int            `json:"rtp_received"`
	RTPStrange  int            `json:"rtp_strange"`
	PeakLive    int            `json:"peak_live"`
	// PeakCPS is the largest number of new calls within one second.
	PeakCPS int `json:"peak_cps"`
}

// Rows are ledger rows; the checks are methods of it, so that a ledger read from a file is checked
// by the same code as a running one.
type Rows []Call

// Live returns the calls that may occupy a phone: trying, ringing, answered.
func (r Rows) Live() Rows {
	var out Rows
	for i := range r {
		if r[i].Live() {
			out = append(out, r[i])
		}
	}
	return out
}

// To returns the calls to a number, oldest first.
func (r Rows) To(number engine.PhoneNumber) Rows {
	var out Rows
	for i := range r {
		if r[i].Number == number {
			out = append(out, r[i])
		}
	}
	return out
}

// ByCode counts ended calls by final code; calls without one count under 0.
func (r Rows) ByCode() map[int]int {
	out := map[int]int{}
	for i := range r {
		if r[i].State == StateEnded || r[i].FinalCode != 0 {
			out[r[i].FinalCode]++
		}
	}
	return out
}

// Overlaps returns every pair of calls to one number that overlap in time, from INVITE to end. A
// call that ends at the instant at which the next one arrives does not overlap it.
func (r Rows) Overlaps() []Overlap {
	order := make([]int, len(r))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(r[a].Number, r[b].Number), r[a].InviteAt.Compare(r[b].InviteAt),
			cmp.Compare(r[a].Incarnation, r[b].Incarnation))
	})
	var out []Overlap
	for i := range order {
		a := &r[order[i]]
		for j := i + 1; j < len(order); j++ {
			b := &r[order[j]]
			if b.Number != a.Number || !b.InviteAt.Before(a.end()) {
				break // sorted: nothing later can overlap a
			}
			until := a.end()
			if b.end().Before(until) {
				until = b.end()
			}
			out = append(out, Overlap{a.Number, *a, *b, b.InviteAt, until.Sub(b.InviteAt)})
		}
	}
	return out
}

// DuplicateInvites returns the Call-IDs that were dialled twice: by a new INVITE transaction that
// neither answers a challenge nor follows a redirection, an INVITE after the end of its call, or a
// copy so late that it must come from another process of the caller.
func (r Rows) DuplicateInvites() []Duplicate {
	var out []Duplicate
	for i := range r {
		c := &r[i]
		why := ""
		switch {
		case c.Incarnation > 1:
			why = "INVITE after the end of its call"
		case c.Invites-c.AuthRetries-c.Renewals > 1:
			why = "second INVITE transaction"
		case c.LateCopies > 0:
			why = "INVITE copy after its ACK"
		default:
			continue
		}
		out = append(out, Duplicate{c.CallID, c.Number, why})
	}
	return out
}

// Summary counts everything.
func (r Rows) Summary() Summary {
	s := Summary{
		Calls: len(r), ByFinal: r.ByCode(), ByKind: map[Kind]int{}, ByeBy: map[Party]int{},
		Violations: map[string]int{}, Overlaps: len(r.Overlaps()), Duplicates: len(r.DuplicateInvites()),
	}
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	starts := make([]time.Time, 0, len(r))
	for i := range r {
		c := &r[i]
		switch c.State {
		case StateTrying:
			s.Trying++
		case StateSilent:
			s.Silent++
		case StateRinging:
			s.Ringing++
		case StateAnswered:
			s.Answered++
		case StateEnded:
			s.Ended++
		}
		if !c.RingingAt.IsZero() {
			s.EverRang++
		}
		if !c.AnsweredAt.IsZero() {
			s.EverAnswer++
		}
		if c.Kind != "" {
			s.ByKind[c.Kind]++
		}
		if c.ByeBy != "" {
			s.ByeBy[c.ByeBy]++
		}
		if c.AckMissing {
			s.AckMissing++
		}
		s.Retransmits += c.Retransmits
		s.RTPSent += c.RTP.Sent
		s.RTPReceived += c.RTP.Received
		s.RTPStrange += c.RTP.Strange
		for _, v := range c.Violations {
			s.Violations[v]++
		}
		starts = append(starts, c.InviteAt)
		edges = append(edges, edge{c.InviteAt, 1}, edge{c.end(), -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	live := 0
	for _, e := range edges {
		live += e.step
		s.PeakLive = max(s.PeakLive, live)
	}
	slices.SortFunc(starts, time.Time.Compare)
	first := 0
	for i, at := range starts {
		for at.Sub(starts[first]) >= time.Second {
			first++
		}
		s.PeakCPS = max(s.PeakCPS, i-first+1)
	}
	return s
}
