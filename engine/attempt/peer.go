package attempt

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/fsm"
)

// This file holds the far legs of an answered call: the parties that the callee is connected to by
// SIP, a bot or the person that the bot transferred to. They are legs of the attempt, placed after
// its answer, each with a small machine of its own that reports to the attempt's.

// PeerKind says who is called by a far leg.
type PeerKind string

const (
	PeerBot      PeerKind = "bot"      // a bot that is reached by SIP
	PeerTransfer PeerKind = "transfer" // the target of a transfer
)

// PeerState is the state of a far leg, as stored.
type PeerState string

const (
	PeerCalling  PeerState = "calling"  // its INVITE is out or about to be
	PeerAnswered PeerState = "answered" // 200 OK; its media path is being joined, the ACK is due
	PeerUp       PeerState = "up"       // callee and peer hear each other
	PeerLeaving  PeerState = "leaving"  // CANCEL or BYE is due
	PeerOver     PeerState = "over"
)

// PeerStates lists every state in order.
var PeerStates = []PeerState{PeerCalling, PeerAnswered, PeerUp, PeerLeaving, PeerOver}

// Peer is a far leg of an answered call.
type Peer struct {
	Leg
	Kind  PeerKind
	State PeerState
	// URI is where the INVITE goes: sip:…, or tel:+… through Trunk.
	URI string
}

// PeerKinds are the event kinds of a far leg's machine.
var PeerKinds = []Kind{
	LegSent, LegNotSent, LegTrying, LegRinging, LegAnswered, LegRefused, LegSilent, LegHungUp, LegClosed,
	PeerJoined, PeerUnfit, PeerTimedOut, PeerDropped, PeerSilent, DigitPressed, LegFenced, LegReferred, LegSession,
}

// peerStep is one step of a far leg's machine; tell is the event for the attempt once the step is
// done.
type peerStep struct {
	m    *Machine
	p    *Peer
	tell Kind
	to   string // of TransferRequested
}

func ofBot(s *peerStep, _ Event) bool { return s.p.Kind == PeerBot }

type peerRow = fsm.Row[PeerState, Kind, *peerStep, Event]

// PeerTable is the transition table of a far leg.
func PeerTable() *fsm.Table[PeerState, Kind, *peerStep, Event] { return peerTable }

var peerTable = fsm.New("peer", PeerStates, PeerKinds, peerRows())

func peerRows() []peerRow {
	calling, answered := []PeerState{PeerCalling}, []PeerState{PeerAnswered}
	leaving := []PeerState{PeerLeaving}
	talking := []PeerState{PeerAnswered, PeerUp}
	rs := []peerRow{
		{From: calling, On: LegAnswered, To: PeerAnswered, Do: (*peerStep).answered,
			Why: "its SDP decides whether the two can hear each other"},
		{From: answered, On: PeerJoined, To: PeerUp, Do: (*peerStep).joined,
			Why: "the dialog is durable before the ACK leaves"},
		{From: answered, On: PeerUnfit, To: PeerLeaving, Do: (*peerStep).unfit,
			Why: "no common codec or address: ACK, BYE, and the next one"},
		{From: calling, On: LegSilent, To: PeerLeaving, Do: (*peerStep).failed,
			Why: "no response at all; the leg stays owned until it closes"},
		{From: calling, On: PeerTimedOut, To: PeerLeaving, Do: (*peerStep).timedOut, Why: "its share of the time is used up"},
		{From: calling, On: PeerDropped, To: PeerLeaving, Do: (*peerStep).cancel, Why: "the call no longer needs it"},
		{From: talking, On: PeerDropped, To: PeerLeaving, Do: (*peerStep).hangUp, Why: "either side's BYE ends both"},
		{From: talking, On: LegHungUp, To: PeerOver, Do: (*peerStep).left, Why: "either side's BYE ends both"},
		{From: talking, On: LegClosed, To: PeerOver, Do: (*peerStep).left, Why: "dropped on our side without a decision"},
		{From: []PeerState{PeerUp}, On: PeerSilent, To: PeerLeaving, Do: (*peerStep).silent,
			Why: "gone without a BYE: nobody should talk into the void"},
		{From: leaving, On: LegAnswered, Do: (*peerStep).crossed,
			Why: "a 200 that crosses our CANCEL is ACKed and ended with BYE (RFC 3261 §9.1)"},
		{From: leaving, On: LegSilent, Ignore: true, Why: "no answer to CANCEL or BYE; the leg stays owned until it closes"},
	}
	for _, k := range []Kind{LegNotSent, LegRefused, LegHungUp, LegClosed} {
		rs = append(rs,
			peerRow{From: calling, On: k, To: PeerOver, Do: (*peerStep).failed, Why: "unreachable: the next target is tried"},
			peerRow{From: leaving, On: k, To: PeerOver, Do: (*peerStep).ended})
	}
	for _, k := range []Kind{LegSent, LegTrying, LegRinging} {
		rs = append(rs,
			peerRow{From: []PeerState{PeerCalling, PeerLeaving}, On: k, Do: (*peerStep).progress,
				Why: "what happened is reported"},
			peerRow{From: talking, On: k, Ignore: true})
	}
	every := []PeerState{PeerCalling, PeerAnswered, PeerUp, PeerLeaving, PeerOver}
	late := func(k Kind, from ...PeerState) {
		rs = append(rs, peerRow{From: from, On: k, Ignore: true, Why: "late"})
	}
	rs = append(rs,
		peerRow{From: []PeerState{PeerUp}, On: LegReferred, Guard: "bot", When: ofBot, Do: (*peerStep).referred,
			Why: "the bot hands the callee over (RFC 3515)"},
		peerRow{From: every[:4], On: LegReferred, Do: (*peerStep).declineRefer,
			Why: "nobody else is asked where the call goes"})
	late(LegReferred, PeerOver)
	late(DigitPressed, every...)
	rs = append(rs, peerRow{From: every, On: LegFenced, Ignore: true, Why: "its end follows"},
		peerRow{From: every, On: LegSession, Ignore: true, Why: "no number is held for it"})
	late(PeerTimedOut, PeerAnswered, PeerUp, PeerLeaving, PeerOver)
	late(PeerDropped, PeerLeaving, PeerOver)
	late(PeerSilent, PeerCalling, PeerAnswered, PeerLeaving, PeerOver)
	late(PeerJoined, PeerUp, PeerLeaving, PeerOver)
	late(PeerUnfit, PeerUp, PeerLeaving, PeerOver)
	return rs
}

// peerAt is the index of the far leg that an event is about, -1 for none.
func (m *Machine) peerAt(id engine.LegID) int {
	return slices.IndexFunc(m.A.Peers, func(p Peer) bool { return p.ID == id })
}

// peerOf finds the far leg that an event is about: the one that its leg event names, or for a
// timeout the one being called.
func (m *Machine) peerOf(ev Event) int {
	switch {
	case len(m.A.Peers) == 0:
		return -1
	case ev.Kind == PeerTimedOut:
		return slices.IndexFunc(m.A.Peers, func(p Peer) bool { return p.State == PeerCalling })
	case ev.Leg != nil:
		return m.peerAt(ev.Leg.Leg)
	case ev.Kind == PeerJoined, ev.Kind == PeerUnfit, ev.Kind == PeerDropped, ev.Kind == PeerSilent:
		return m.peerAt(ev.Peer)
	}
	return -1
}

// stalePeer drops events that bring nothing new about a far leg.
func (m *Machine) stalePeer(p *Peer, ev Event) bool {
	switch {
	case ev.Kind == PeerTimedOut:
		return m.staleTimer(TimerPeer, ev.Epoch)
	case ev.Leg != nil:
		return p.EndedAt != nil || ev.Leg.Seq <= p.Seq
	}
	return false
}

// applyPeer takes one event through the machine of the i-th far leg, and its consequence through
// the attempt's machine.
func (m *Machine) applyPeer(i int, ev Event, dst []Effect) ([]Effect, error) {
	p := &m.A.Peers[i]
	if m.stalePeer(p, ev) {
		return dst, nil
	}
	m.out = dst
	s := peerStep{m: m, p: p}
	to, err := peerTable.Step(p.State, ev.Kind, &s, ev)
	if err != nil {
		m.out = nil
		return dst, err
	}
	p.State = to
	if ev.Leg != nil {
		p.Seq = ev.Leg.Seq
	}
	from := len(m.out)
	if s.tell != "" {
		m.told(&s, ev)
	}
	if ev.Kind == PeerJoined && to == PeerUp {
		m.confirmPeer(i, from)
	}
	dst, m.out, m.class = m.out, nil, nil
	return dst, nil
}

// told passes on to the attempt what happened to a far leg.
func (m *Machine) told(s *peerStep, cause Event) {
	k, id := s.tell, s.p.ID
	switch {
	case s.p.Kind == PeerTransfer:
		k = ofTransfer[k]
	case k == BotFailed && m.callBot(cause.At):
		return // the next endpoint is tried
	}
	ev := Event{Kind: k, At: cause.At, Peer: id, To: s.to, By: engine.PartyBot, Leg: cause.Leg,
		Media: &engine.MediaEvent{Attempt: m.A.ID, Session: engine.SessionID(id)}}
	if to, err := table.Step(m.A.State, k, m, ev); err == nil {
		m.A.State = to
	}
}

// ofTransfer maps the event of a bot's leg to the event for the leg of a transfer's target.
var ofTransfer = map[Kind]Kind{BotConnected: TransferAnswered, BotFailed: TransferFailed, BotClosed: TransferEnded}

// confirmPeer delays the ACK of a far leg until its dialog is durable, together with the answer's
// consequence for the attempt if that was recorded. A far leg that was dropped at once gets its ACK
// with its BYE.
func (m *Machine) confirmPeer(i, from int) {
	p := &m.A.Peers[i]
	if p.State != PeerUp {
		return
	}
	recorded := slices.ContainsFunc(m.out[from:], func(e Effect) bool { _, ok := e.(Record); return ok })
	if !recorded {
		m.emit(recordLeg)
	}
	m.emit(Confirm{Leg: p.ID})
}

// freeChannels gives back the trunk channels of open far legs: the attempt ends, and its watcher
// handles the rest.
func (m *Machine) freeChannels() {
	for i := range m.A.Peers {
		if p := &m.A.Peers[i]; p.Trunk != "" && p.EndedAt == nil {
			m.emit(TrunkEvent{Trunk: p.Trunk, Leg: p.ID, Over: true})
		}
	}
}

// NextLeg is the identifier of the leg that is placed next.
func (m *Machine) NextLeg() engine.LegID { return m.nextLegID() }

// nextLegID is the identifier of the leg that is placed next.
func (m *Machine) nextLegID() engine.LegID {
	return m.A.ID.Leg(len(m.A.Legs) + len(m.A.Peers) + 1)
}

// callBot calls the bot's next address, if there is another one. The remaining time is shared
// evenly; the last address gets all of it, which the 2 s rule ends.
func (m *Machine) callBot(now time.Time) bool {
	tried := 0
	for i := range m.A.Peers {
		if m.A.Peers[i].Kind == PeerBot {
			tried++
		}
	}
	left := len(m.Config.BotURIs) - tried
	if m.A.Ending != nil || m.A.State == Ended || m.A.ServedAt != nil || left <= 0 {
		return false
	}
	deadline := m.bridgeDeadline()
	by := now.Add(deadline.Sub(now) / time.Duration(left))
	p := Peer{Leg: Leg{ID: m.nextLegID()}, Kind: PeerBot, State: PeerCalling, URI: m.Config.BotURIs[tried]}
	m.A.Peers = append(m.A.Peers, p)
	m.emit(recordLeg)
	m.emit(DialPeer{Leg: p.ID, Kind: PeerBot, URI: p.URI, SendBy: by})
	if left > 1 {
		m.arm(TimerPeer, by)
	}
	return true
}

// dropPeers ends every far leg: the call no longer needs them.
func (m *Machine) dropPeers(now time.Time) {
	m.giveUpTransfer(now)
	m.drop(now, PeerBot)
	m.drop(now, PeerTransfer)
}

func (m *Machine) drop(now time.Time, kind PeerKind) {
	for i := range m.A.Peers {
		p := &m.A.Peers[i]
		if p.Kind != kind {
			continue
		}
		s := peerStep{m: m, p: p}
		if to, err := peerTable.Step(p.State, PeerDropped, &s, Event{Kind: PeerDropped, At: now}); err == nil {
			p.State = to
		}
	}
}

// Peer gives a far leg, nil when there is none.
func (a *Attempt) Peer(id engine.LegID) *Peer {
	for i := range a.Peers {
		if a.Peers[i].ID == id {
			return &a.Peers[i]
		}
	}
	return nil
}

// OpenPeers counts the far legs that are not over.
func (a *Attempt) OpenPeers() (n int) {
	for i := range a.Peers {
		if a.Peers[i].EndedAt == nil {
			n++
		}
	}
	return n
}

// --- actions ----------------------------------------------------------------

func (s *peerStep) progress(ev Event) {
	if s.p.SentAt == nil {
		s.p.SentAt = at(ev.At)
	}
	if ev.Kind != LegSent && s.p.TryingAt == nil {
		s.p.TryingAt = at(ev.At)
	}
}

// wire records the far side's response.
func (s *peerStep) wire(ev Event) {
	if l := ev.Leg; l != nil {
		s.p.SIPCode, s.p.SIPReason, s.p.Q850 = l.Code, l.Reason, l.Q850
	}
}

func (s *peerStep) answered(ev Event) {
	s.progress(ev)
	s.wire(ev)
	s.p.Dialog = ev.Leg.Dialog
	s.m.disarm(TimerPeer)
	s.m.emit(JoinPeer{Leg: s.p.ID, SDP: ev.Leg.SDP})
}

func (s *peerStep) joined(Event) { s.tell = BotConnected }

func (s *peerStep) unfit(Event) {
	s.m.emit(HangUp{Leg: s.p.ID, Cause: engine.HangUpCause{Q850: 88, Text: "Incompatible destination"}})
	s.m.emit(ClosePeer{Leg: s.p.ID})
	s.tell = BotFailed
}

// failed handles an address that did not take the call.
func (s *peerStep) failed(ev Event) {
	s.wire(ev)
	if ev.Leg.Kind.Final() {
		s.over(ev)
	}
	s.m.disarm(TimerPeer)
	s.m.emit(ClosePeer{Leg: s.p.ID})
	s.tell = BotFailed
}

func (s *peerStep) timedOut(Event) {
	s.m.emit(Cancel{Leg: s.p.ID})
	s.m.emit(ClosePeer{Leg: s.p.ID})
	s.tell = BotFailed
}

func (s *peerStep) cancel(Event) {
	s.m.disarm(TimerPeer)
	s.m.emit(Cancel{Leg: s.p.ID})
	s.m.emit(ClosePeer{Leg: s.p.ID})
}

func (s *peerStep) hangUp(Event) {
	s.m.emit(HangUp{Leg: s.p.ID, Cause: causeNormal})
	s.m.emit(ClosePeer{Leg: s.p.ID})
}

// silent handles a peer that sends neither RTP nor RTCP any more.
func (s *peerStep) silent(Event) {
	s.m.emit(HangUp{Leg: s.p.ID, Cause: engine.HangUpCause{Q850: 102, Text: "Recovery on timer expiry"}})
	s.m.emit(ClosePeer{Leg: s.p.ID})
	s.tell = BotClosed
}

// left handles a peer that hung up.
func (s *peerStep) left(ev Event) {
	if ev.Leg.Q850 != 0 {
		s.p.Q850 = ev.Leg.Q850
	}
	s.over(ev)
	s.m.emit(ClosePeer{Leg: s.p.ID})
	s.tell = BotClosed
}

func (s *peerStep) crossed(ev Event) {
	s.progress(ev)
	s.wire(ev)
	s.p.Dialog = ev.Leg.Dialog
	s.m.emit(recordLeg)
	s.m.emit(Confirm{Leg: s.p.ID})
	s.m.emit(HangUp{Leg: s.p.ID, Cause: causeNormal})
}

func (s *peerStep) ended(ev Event) {
	if ev.Kind == LegRefused {
		s.wire(ev)
	}
	s.over(ev)
}

// over ends the leg and gives back any channel that it held.
func (s *peerStep) over(ev Event) {
	s.p.EndedAt = at(ev.At)
	if s.p.Trunk == "" || s.m.A.State == Ended {
		return // none, or given back with the attempt
	}
	e := TrunkEvent{Trunk: s.p.Trunk, Leg: s.p.ID, Over: true}
	if ev.Kind == LegRefused || ev.Kind == LegNotSent {
		e.Class = s.m.classify(ev)
	}
	s.m.emit(e)
}
