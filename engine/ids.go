package engine

import "strconv"

// CampaignID is the short public identifier of a campaign, for example
// "cmp_7k3q9x2m4p".
type CampaignID string

// ContactID identifies one person in one campaign: 32 lower-case hex digits,
// ordered by time of creation.
type ContactID string

// AttemptID identifies one dial of a contact: 32 lower-case hex digits,
// ordered by time of creation.
type AttemptID string

// CallID is the name of an attempt for bots and API callers ("callSid"): "CA" and the 32 hex digits
// of the attempt.
type CallID string

// SocketID is one socket of a bot that is opened ahead of its call: the campaign, a slash
// and a number.
type SocketID string

// SessionID is one conversation with a bot ("streamSid"): "MZ" and 32 hex
// digits, or the SIP Call-ID of the bot's leg.
type SessionID string

// LegID is one SIP call of an attempt and also that leg's SIP Call-ID: "<attempt>.<n>", n counting
// from 1.
type LegID string

// ImportID identifies one file of contacts: 32 lower-case hex digits, ordered
// by time of creation.
type ImportID string

// BotID, TrunkID, KeyID, UserID, CadenceID and CalendarID identify configured objects.
type (
	BotID      string
	TrunkID    string
	KeyID      string
	UserID     string
	CadenceID  string
	CalendarID string
)

// Incarnation is one membership of a node in a cluster, from its joining to its leaving or the end
// of its lease: unique over all nodes and all time, counting from 1. 0 is a process outside any
// cluster.
type Incarnation int32

// Call returns the public name of the attempt.
func (a AttemptID) Call() CallID { return CallID("CA" + string(a)) }

// Leg names the n-th leg of the attempt, n counting from 1.
func (a AttemptID) Leg(n int) LegID { return LegID(string(a) + "." + strconv.Itoa(n)) }

// Short is the form of an attempt identifier shown to operators: its last 8 characters.
func (a AttemptID) Short() string {
	if len(a) <= 8 {
		return string(a)
	}
	return string(a[len(a)-8:])
}

// Attempt returns the attempt named by a public call identifier; ok is false when the identifier is
// not of the form "CA" + 32 lower-case hex digits.
func (c CallID) Attempt() (id AttemptID, ok bool) {
	if len(c) != 34 || c[:2] != "CA" || !isHex(string(c[2:])) {
		return "", false
	}
	return AttemptID(c[2:]), true
}

// Attempt returns the attempt that a leg belongs to; ok is false when the identifier is not of the
// form "<attempt>.<n>".
func (l LegID) Attempt() (id AttemptID, n int, ok bool) {
	if len(l) < 34 || l[32] != '.' || !isHex(string(l[:32])) {
		return "", 0, false
	}
	n, err := strconv.Atoi(string(l[33:]))
	if err != nil || n < 1 || l[33] < '1' || l[33] > '9' { // as Leg writes it: no sign, no leading zeros
		return "", 0, false
	}
	return AttemptID(l[:32]), n, true
}

func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// PhoneNumber is an E.164 number with its leading plus. Phone numbers are personal data: the String
// method masks the number, so that one that reaches a log or an error message by accident is not
// readable. Code that needs the digits calls E164 explicitly.
type PhoneNumber string

// E164 is the number in clear, for example "+4915112345678".
func (p PhoneNumber) E164() string { return string(p) }

// String masks all but the first three and the last two characters.
func (p PhoneNumber) String() string {
	if len(p) <= 5 {
		return "+***"
	}
	return string(p[:3]) + "***" + string(p[len(p)-2:])
}
