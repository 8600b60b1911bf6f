package attempt

import (
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// This file holds the handling of a bot's request to hand the callee over.

// Transfer is a request to hand the callee over, and its result.
type Transfer struct {
	// Kind is the kind of target: number (through a trunk) or sip.
	Kind string `json:"kind"`
	To   string `json:"to"` // E.164 or sip:…; personal data
	By   string `json:"by"` // api, refer
	// Leg is the bot's leg that requested it, "" for the API.
	Leg engine.LegID `json:"leg,omitempty"`
	// RequestedAt, AnsweredAt and EndedAt are when the transfer was requested, when the target took
	// the call, and when the transfer failed or the bridged call ended.
	RequestedAt time.Time      `json:"requested_at"`
	AnsweredAt  *time.Time     `json:"answered_at,omitempty"`
	EndedAt     *time.Time     `json:"ended_at,omitempty"`
	Result      TransferResult `json:"result"`
	SIPCode     int            `json:"sip_code,omitempty"` // of the target's final response
	// Tried counts the transfers of the call, this one included.
	Tried int `json:"tried"`
}

// TransferResult is the status of a transfer.
type TransferResult string

const (
	TransferCalling   TransferResult = "calling"   // the target is called; the bot stays on
	TransferBridged   TransferResult = "bridged"   // callee and target are connected, the bot is off
	TransferRefused   TransferResult = "refused"   // the target declined
	TransferNoAnswer  TransferResult = "no_answer" // not answered within the ring timeout
	TransferUnreached TransferResult = "failed"    // unreachable: no trunk, no route, no common codec
	TransferGivenUp   TransferResult = "given_up"  // the call ended first
)

// Kinds of a transfer's target.
const (
	targetNumber = "number"
	targetSIP    = "sip"
)

// TransferRules say to whom a bot may hand a call over.
type TransferRules struct {
	// Allowed are E.164 numbers, their prefixes ("+4930*"), SIP URIs, and all users of a host
	// ("sip:*@host"). Empty allows no transfers.
	Allowed []string
	Limit   int // transfers per call, failed ones included
}

// TransfersCap and TransferTargetsCap bound TransferRules.
const (
	TransfersCap       = 5
	TransferTargetsCap = 64
)

// CheckTransferTarget says whether s is a valid entry of TransferRules.Allowed.
func CheckTransferTarget(s string) bool {
	if rest, ok := strings.CutPrefix(s, "sip:*@"); ok {
		_, ok = engine.ParseSIPURI("sip:any@" + rest)
		return ok
	}
	if strings.HasPrefix(s, "+") {
		return isNumber(strings.TrimSuffix(s, "*"))
	}
	_, ok := engine.ParseSIPURI(s)
	return ok
}

// isNumber accepts a plus and up to 15 digits (E.164).
func isNumber(s string) bool {
	digits, ok := strings.CutPrefix(s, "+")
	return ok && len(digits) >= 1 && len(digits) <= 15 && strings.Trim(digits, "0123456789") == "" && digits[0] != '0'
}

// permits says whether the rules allow the target.
func (r *TransferRules) permits(to string) bool {
	return slices.ContainsFunc(r.Allowed, func(entry string) bool {
		if prefix, ok := strings.CutSuffix(entry, "*"); ok && strings.HasPrefix(entry, "+") {
			return isNumber(to) && strings.HasPrefix(to, prefix)
		}
		if host, ok := strings.CutPrefix(entry, "sip:*@"); ok {
			_, at, found := strings.Cut(to, "@")
			return found && strings.HasPrefix(to, "sip:") && at == host
		}
		return to == entry
	})
}

// target parses the requested target of a call: a number, a SIP URI, or what a REFER makes of a
// number (tel:+…, sip:+…@host) when no such SIP address is allowed.
func (m *Machine) target(to string) (string, bool) {
	to = strings.TrimPrefix(to, "tel:")
	if isNumber(to) {
		return to, len(to) > 4
	}
	u, ok := engine.ParseSIPURI(to)
	if ok && isNumber(u.User) && len(u.User) > 4 && !m.Config.Transfers.permits(to) {
		return u.User, true
	}
	return to, ok
}

var (
	errTransferOff = &engine.Error{Kind: engine.KindForbidden, Code: "transfer_not_allowed",
		Detail: "The campaign, or the request for the call, does not allow transfers to this target; add it to " +
			"transfer_targets."}
	errTransferTarget  = engine.Invalid("transfer_target", "The target must be an E.164 number or sip:user@host.")
	errTransferState   = engine.Conflict("call_not_connected", "")
	errTransferRunning = engine.Conflict("transfer_in_progress", "")
	errTransferLimit   = engine.Conflict("transfer_limit", "")
)

// JudgeTransfer says why the call cannot be handed over to a target now, nil
// when it can.
func (m *Machine) JudgeTransfer(to string) error {
	t := m.A.Transfer
	target, ok := m.target(to)
	switch {
	case !ok:
		return errTransferTarget
	case !m.Config.Transfers.permits(target):
		return errTransferOff
	case m.A.State != Connected || m.A.Ending != nil:
		return errTransferState
	case t != nil && (t.Result == TransferCalling || t.Result == TransferBridged):
		return errTransferRunning
	case t != nil && t.Tried >= m.Config.Transfers.Limit:
		return errTransferLimit
	}
	return nil
}

func (m *Machine) bridged() bool {
	return m.A.Transfer != nil && m.A.Transfer.Result == TransferBridged
}

// wantsTrunk says that a number is to be called and no leg to it was placed yet.
func (m *Machine) wantsTrunk() bool {
	t := m.A.Transfer
	return t != nil && t.Result == TransferCalling && t.Kind == targetNumber && !m.targetOpen()
}

// targetOpen says whether a leg to a target is still open.
func (m *Machine) targetOpen() bool {
	return slices.ContainsFunc(m.A.Peers, func(p Peer) bool {
		return p.Kind == PeerTransfer && (p.State == PeerCalling || p.State == PeerAnswered || p.State == PeerUp)
	})
}

func (m *Machine) transferDeadline() time.Time {
	return m.A.Transfer.RequestedAt.Add(m.Config.RingTimeout)
}

// --- actions ----------------------------------------------------------------

func (m *Machine) transfer(ev Event) {
	to, _ := m.target(ev.To)
	t := &Transfer{Kind: targetSIP, To: to, By: "api", RequestedAt: ev.At, Result: TransferCalling, Tried: 1, Leg: ev.Peer}
	if m.A.Transfer != nil {
		t.Tried += m.A.Transfer.Tried
	}
	if ev.Peer != "" {
		t.By = "refer"
		m.emit(AnswerRefer{Leg: ev.Peer, Accept: true})
	}
	m.A.Transfer = t
	if isNumber(to) {
		t.Kind = targetNumber
		m.askForTarget(ev)
		return
	}
	m.placeTarget(to, "", nil)
}

func (m *Machine) askForTarget(Event) { m.emit(NextTrunk{}) }

func (m *Machine) callTarget(ev Event) {
	m.placeTarget("tel:"+m.A.Transfer.To, ev.Trunk, ev.Profile)
}

func (m *Machine) placeTarget(uri string, trunk engine.TrunkID, profile *engine.MediaProfile) {
	p := Peer{Leg: Leg{ID: m.nextLegID(), Trunk: trunk}, Kind: PeerTransfer, State: PeerCalling, URI: uri}
	m.A.Peers = append(m.A.Peers, p)
	m.disarm(TimerTrunk)
	m.emit(recordLeg)
	m.emit(DialPeer{Leg: p.ID, Kind: PeerTransfer, URI: uri, Trunk: trunk, Profile: profile, SendBy: m.transferDeadline()})
	m.arm(TimerPeer, m.transferDeadline())
}

func (m *Machine) declineTransfer(ev Event) {
	if ev.Peer != "" {
		m.emit(AnswerRefer{Leg: ev.Peer})
	}
}

func (m *Machine) declineRefer(ev Event) { m.emit(AnswerRefer{Leg: ev.Leg.Leg}) }

func (s *peerStep) declineRefer(ev Event) { s.m.emit(AnswerRefer{Leg: ev.Leg.Leg}) }

func (s *peerStep) referred(ev Event) { s.tell, s.to = TransferRequested, ev.Leg.ReferTo }

func (m *Machine) noTrunkForTarget(ev Event) {
	m.endTransfer(ev.At, TransferUnreached, 503)
	m.emit(recordLeg)
}

// transferFailed handles a target that cannot be reached.
func (m *Machine) transferFailed(ev Event) {
	result, code := TransferUnreached, 0
	if i := m.peerAt(ev.Peer); i >= 0 {
		switch p := &m.A.Peers[i]; {
		case p.State == PeerLeaving && p.SIPCode == 0: // cancelled, or no response at all
			result, code = TransferNoAnswer, 480
		case p.SIPCode >= 300:
			result, code = TransferRefused, p.SIPCode
		}
	}
	m.endTransfer(ev.At, result, code)
	m.emit(recordLeg)
}

// transferFailedAlone handles a failed transfer whose bot has already hung up.
func (m *Machine) transferFailedAlone(ev Event) {
	if ev.Kind == TrunkRefused {
		m.endTransfer(ev.At, TransferUnreached, 503)
	} else {
		m.transferFailed(ev)
	}
	m.endConversation(ev.At, engine.PartyBot, causeNormal)
}

// botLeft handles a bot that hangs up while its target is called. Its seat goes back.
func (m *Machine) botLeft(Event) {
	m.A.BotUp, m.A.Seated = false, false
	m.emit(lineReleased)
	m.emit(recordLeg)
}

// endTransfer fixes the result of a transfer that failed, and reports it to the requester.
func (m *Machine) endTransfer(now time.Time, result TransferResult, code int) {
	m.disarm(TimerTrunk)
	t := *m.A.Transfer // snapshots share the old value
	t.Result, t.SIPCode, t.EndedAt = result, code, at(now)
	m.A.Transfer = &t
	if t.Leg != "" {
		if code == 0 {
			code = 503
		}
		m.emit(NotifyRefer{Leg: t.Leg, Code: code, Reason: string(result)})
	}
}

// giveUpTransfer closes a transfer, pending or completed, because the call ends.
func (m *Machine) giveUpTransfer(now time.Time) {
	switch t := m.A.Transfer; {
	case t == nil || t.EndedAt != nil:
	case t.Result == TransferCalling:
		m.endTransfer(now, TransferGivenUp, 487)
	default:
		c := *t
		c.EndedAt = at(now)
		m.A.Transfer = &c
	}
}

// handOver connects the target. The bot is detached and told why, and its seat goes back; the
// callee's conversation continues.
func (m *Machine) handOver(ev Event) {
	t := *m.A.Transfer
	t.Result, t.AnsweredAt, t.SIPCode = TransferBridged, at(ev.At), 200
	m.A.Transfer = &t
	if t.Leg != "" {
		m.emit(NotifyRefer{Leg: t.Leg, Code: 200, Reason: "OK"})
	}
	if i := m.peerAt(ev.Peer); i >= 0 && m.A.Peers[i].Trunk != "" {
		m.emit(TrunkEvent{Trunk: m.A.Peers[i].Trunk, Leg: ev.Peer})
	}
	m.emit(effectDetachBot)
	m.drop(ev.At, PeerBot)
	if m.A.Seated {
		m.A.Seated = false
		m.emit(lineReleased)
	}
}

func (m *Machine) targetHungUp(ev Event) {
	m.endConversation(ev.At, engine.PartyTarget, causeNormal)
}
