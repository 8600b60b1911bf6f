package gateway

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
)

// route leads to a call whose legs are on another node, for the node that owns
// its attempt.
type route struct {
	id   engine.AttemptID
	link *link.Link // nil: the legs are here, another node has adopted the call; send nothing
	// missing says that the legs were presumed there, and then reported unknown.
	missing atomic.Bool

	mu      sync.Mutex
	legs    []engine.LegID // placed there
	onLeg   func(engine.LegEvent)
	onMedia func(engine.MediaEvent)
	// Events with another serial are for an earlier sink.
	legSerial, mediaSerial uint64
	quality                engine.MediaQuality
	closed                 bool // the media path
}

type routeShard struct {
	mu sync.RWMutex
	m  map[engine.AttemptID]*route
}

func shardOf(a engine.AttemptID) int {
	h := uint32(2166136261)
	for i := max(len(a)-8, 0); i < len(a); i++ { // its end differs from call to call
		h = (h ^ uint32(a[i])) * 16777619
	}
	return int(h % shards)
}

// routes holds the routes to calls on other nodes.
type routes struct {
	away   atomic.Int64 // calls whose legs are on other nodes
	taken  atomic.Int64 // calls here that other nodes have adopted from this one
	shards [shards]routeShard
}

// to returns the route of a call; nil means its legs are here.
func (rs *routes) to(a engine.AttemptID) *route {
	if rs.away.Load()+rs.taken.Load() == 0 {
		return nil
	}
	s := &rs.shards[shardOf(a)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[a]
}

// toLeg gives the route of the call that a leg belongs to.
func (rs *routes) toLeg(leg engine.LegID) *route {
	if rs.away.Load()+rs.taken.Load() == 0 {
		return nil
	}
	a, _, _ := leg.Attempt()
	return rs.to(a)
}

func (rs *routes) add(a engine.AttemptID, l *link.Link, legs []engine.LegID) *route {
	r := &route{id: a, link: l, legs: legs, legSerial: 1, mediaSerial: 1}
	s := &rs.shards[shardOf(a)]
	s.mu.Lock()
	old := s.m[a]
	s.m[a] = r
	s.mu.Unlock()
	r.counts(rs, 1)
	if old != nil {
		old.counts(rs, -1)
	}
	return r
}

// counts adjusts the counters for a route added or removed.
func (r *route) counts(rs *routes, n int) {
	if r.link == nil {
		rs.taken.Add(int64(n))
		return
	}
	rs.away.Add(int64(n))
	r.link.Use(n)
}

func (r *route) known() []engine.LegID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.legs)
}

func (r *route) knows(legs []engine.LegID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.legs = legs
}

func (rs *routes) drop(r *route) {
	s := &rs.shards[shardOf(r.id)]
	s.mu.Lock()
	there := s.m[r.id] == r
	if there {
		delete(s.m, r.id)
	}
	s.mu.Unlock()
	if there {
		r.counts(rs, -1)
	}
}

// where lists the routes that satisfy a condition.
func (rs *routes) where(f func(*route) bool) (found []*route) {
	for i := range rs.shards {
		s := &rs.shards[i]
		s.mu.RLock()
		for _, r := range s.m {
			if f(r) {
				found = append(found, r)
			}
		}
		s.mu.RUnlock()
	}
	return found
}

func (r *route) tell(m message) {
	if r.link == nil {
		return
	}
	m.attempt = r.id
	r.link.Tell(Name, gather, true, m.say)
}

// Away says that the legs of an attempt are on another node.
func (g *Gateway) Away(a engine.AttemptID) bool {
	r := g.routes.to(a)
	return r != nil && r.link != nil
}

// unheardAfter is how long a node with calls may be silent before it counts as possibly dead: it
// beats every second. It is shorter than a live answer may wait for its bot.
const unheardAfter = link.Heartbeat + link.Heartbeat/2

// Unheard says that the legs of an attempt are on another node that has been silent for longer than
// its heartbeat.
func (g *Gateway) Unheard(a engine.AttemptID) bool {
	r := g.routes.to(a)
	return r != nil && r.link != nil && r.link.SilentFor() > unheardAfter
}

// happened delivers another node's event to its sink.
func (g *Gateway) happened(l *link.Link, m *message) {
	r := g.routes.to(m.attempt)
	if r == nil || r.link != l {
		g.Strays.Add(1)
		return
	}
	if m.kind == kMediaEvent {
		if sink := r.mediaNews(m); sink != nil {
			sink(*m.onMedia)
		}
		return
	}
	if e := m.onLeg; e.Kind == engine.LegNotSent && e.NotSent != engine.NotSentCancelled &&
		e.NotSent != engine.NotSentHeld {
		g.cfg.Failed(l.Peer())
	}
	if sink := r.legNews(m); sink != nil {
		sink(*m.onLeg)
	}
}

// legNews returns the sink for a leg's event, nil if the leg is not the route's.
func (r *route) legNews(m *message) func(engine.LegEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.quality != nil {
		r.quality, r.closed = *m.quality, true
	}
	if m.serial != r.legSerial {
		return nil
	}
	return r.onLeg
}

func (r *route) mediaNews(m *message) func(engine.MediaEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.serial != r.mediaSerial {
		return nil
	}
	return r.onMedia
}

// PlaceLeg implements ports.Telephony. All legs of an attempt elsewhere share one sink: the last
// one given.
func (g *Gateway) PlaceLeg(cmd engine.PlaceLeg, sink func(engine.LegEvent)) {
	r := g.routes.to(cmd.Attempt)
	if r == nil {
		g.cfg.Telephony.PlaceLeg(cmd, sink)
		return
	}
	r.mu.Lock()
	r.onLeg = sink
	r.legs = append(r.legs, cmd.Leg)
	r.mu.Unlock()
	there := cmd // keeps the command off the heap for a local call
	r.tell(message{kind: kPlace, place: &there})
}

// RefuseLeg and RingLeg implement ports.Telephony: a call that came in and was not answered is here.
func (g *Gateway) RefuseLeg(leg engine.LegID, code int) { g.cfg.Telephony.RefuseLeg(leg, code) }
func (g *Gateway) RingLeg(leg engine.LegID)             { g.cfg.Telephony.RingLeg(leg) }

// ConfirmLeg implements ports.Telephony.
func (g *Gateway) ConfirmLeg(leg engine.LegID) {
	if r := g.routes.toLeg(leg); r != nil {
		r.tell(message{kind: kConfirm, leg: leg})
		return
	}
	g.cfg.Telephony.ConfirmLeg(leg)
}

// CancelLeg implements ports.Telephony. For a leg elsewhere it returns CancelTold: Settled reports
// when it was carried out.
func (g *Gateway) CancelLeg(leg engine.LegID) engine.CancelOutcome {
	if r := g.routes.toLeg(leg); r != nil {
		r.tell(message{kind: kCancel, leg: leg})
		return engine.CancelTold
	}
	return g.cfg.Telephony.CancelLeg(leg)
}

// HangUpLeg implements ports.Telephony.
func (g *Gateway) HangUpLeg(leg engine.LegID, cause engine.HangUpCause) {
	if r := g.routes.toLeg(leg); r != nil {
		r.tell(message{kind: kHangUp, leg: leg, cause: cause})
		return
	}
	g.cfg.Telephony.HangUpLeg(leg, cause)
}

// SendDigit implements ports.Telephony. For a leg elsewhere, true means that the command was sent
// there.
func (g *Gateway) SendDigit(leg engine.LegID, key byte, duration time.Duration) bool {
	if r := g.routes.toLeg(leg); r != nil {
		r.tell(message{kind: kSendDigit, leg: leg, code: int(key), span: duration})
		return true
	}
	return g.cfg.Telephony.SendDigit(leg, key, duration)
}

// AnswerRefer implements ports.Telephony. For a leg elsewhere, true means that the command was sent
// there.
func (g *Gateway) AnswerRefer(leg engine.LegID, accept bool) bool {
	if r := g.routes.toLeg(leg); r != nil {
		r.tell(message{kind: kAnswerRefer, leg: leg, yes: accept})
		return true
	}
	return g.cfg.Telephony.AnswerRefer(leg, accept)
}

// NotifyRefer implements ports.Telephony.
func (g *Gateway) NotifyRefer(leg engine.LegID, code int, reason string) {
	if r := g.routes.toLeg(leg); r != nil {
		r.tell(message{kind: kNotifyRefer, leg: leg, code: code, text: reason})
		return
	}
	g.cfg.Telephony.NotifyRefer(leg, code, reason)
}

// AttachLeg implements ports.Telephony. For an attempt elsewhere it lists the legs that were placed
// there or that AdoptLegs found; their events follow from the first.
func (g *Gateway) AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) []engine.LegID {
	r := g.routes.to(a)
	if r == nil {
		return g.cfg.Telephony.AttachLeg(a, sink)
	}
	r.mu.Lock()
	r.onLeg = sink
	r.legSerial++
	legs, n := slices.Clone(r.legs), r.legSerial
	r.mu.Unlock()
	r.tell(message{kind: kAttachLegs, serial: n})
	return legs
}

// ForgetLegs implements ports.Telephony.
func (g *Gateway) ForgetLegs(a engine.AttemptID) {
	if r := g.routes.to(a); r != nil {
		r.tell(message{kind: kForget})
		if r.link != nil {
			g.routes.drop(r)
		}
		return
	}
	g.cfg.Telephony.ForgetLegs(a)
}

// RecoverLeg implements ports.Telephony: the node known to have the call ends the leg, else this
// one does.
func (g *Gateway) RecoverLeg(leg engine.RecoveredLeg, sink func(engine.LegEvent)) {
	r := g.routes.to(leg.Attempt)
	if r == nil {
		g.recoverHere(leg, sink)
		return
	}
	r.mu.Lock()
	r.onLeg = sink
	r.mu.Unlock()
	there := leg
	r.tell(message{kind: kRecover, recover: &there})
}

// sentByFor bounds the query for what another node wrote into its Via.
const sentByFor = 2 * time.Second

// recoverHere ends a leg from this node. An unanswered leg that another node placed is cancelled
// with the Via of that node.
func (g *Gateway) recoverHere(leg engine.RecoveredLeg, sink func(engine.LegEvent)) {
	if leg.Dialog != nil || g.cfg.SentBy == nil || g.mine(leg.Node) {
		g.cfg.Telephony.RecoverLeg(leg, sink)
		return
	}
	go func() { // it ends in time and uses nothing of the gateway
		ctx, cancel := context.WithTimeout(context.Background(), sentByFor)
		defer cancel()
		leg.SentBy = g.cfg.SentBy(ctx, leg.Node, leg.Trunk)
		g.cfg.Telephony.RecoverLeg(leg, sink)
	}()
}

// Calling implements ports.Telephony; it considers this node only.
func (g *Gateway) Calling(to engine.PhoneNumber) bool { return g.cfg.Telephony.Calling(to) }

// Ask implements ports.Telephony; this node sends the request.
func (g *Gateway) Ask(ctx context.Context, uri string) error { return g.cfg.Telephony.Ask(ctx, uri) }

// AskBot implements ports.Media; this node sends the request.
func (g *Gateway) AskBot(ctx context.Context, cmd engine.AskBot) error {
	return g.cfg.Media.AskBot(ctx, cmd)
}

// Open implements ports.Media. If cmd.Node is set, that node carries the call from now on; the
// offer is then empty, and filled in there. An error means that the node is unreachable, or that
// too much is waiting for it.
func (g *Gateway) Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) (offer []byte, err error) {
	r := g.routes.to(cmd.Attempt)
	if r == nil {
		if g.mine(cmd.Node) {
			return g.cfg.Media.Open(cmd, sink)
		}
		l := g.leads(cmd.Node)
		switch {
		case l == nil:
			return nil, errGone
		case !l.Room():
			g.cfg.Failed(cmd.Node)
			return nil, errNodeBusy
		}
		r = g.routes.add(cmd.Attempt, l, nil)
	}
	r.mu.Lock()
	r.onMedia = sink
	r.mu.Unlock()
	there := cmd
	r.tell(message{kind: kOpen, open: &there})
	return nil, nil
}

// HearEarly implements ports.Media.
func (g *Gateway) HearEarly(a engine.AttemptID, sdp []byte) {
	if r := g.routes.to(a); r != nil {
		if r.link != nil && r.link.Speaks(2) {
			r.tell(message{kind: kHearEarly, sdp: sdp})
		}
		return
	}
	g.cfg.Media.HearEarly(a, sdp)
}

// Answer implements ports.Media.
func (g *Gateway) Answer(a engine.AttemptID, sdp []byte, at time.Time) {
	if r := g.routes.to(a); r != nil {
		r.tell(message{kind: kAnswer, sdp: sdp, at: at})
		return
	}
	g.cfg.Media.Answer(a, sdp, at)
}

// AttachBot implements ports.Media.
func (g *Gateway) AttachBot(cmd engine.AttachBot) {
	if r := g.routes.to(cmd.Attempt); r != nil {
		there := cmd
		kind := kAttachBot
		if _, ok := g.sockets.take(cmd.Socket); ok {
			kind = kAttachAhead
		}
		r.tell(message{kind: kind, bot: &there})
		return
	}
	g.cfg.Media.AttachBot(cmd)
}

// DetachBot implements ports.Media.
func (g *Gateway) DetachBot(a engine.AttemptID) {
	if r := g.routes.to(a); r != nil {
		r.tell(message{kind: kDetachBot})
		return
	}
	g.cfg.Media.DetachBot(a)
}

// PlayMessage implements ports.Media.
func (g *Gateway) PlayMessage(a engine.AttemptID) {
	if r := g.routes.to(a); r != nil {
		r.tell(message{kind: kPlay})
		return
	}
	g.cfg.Media.PlayMessage(a)
}

// LeaveVoicemail implements ports.Media.
func (g *Gateway) LeaveVoicemail(cmd engine.LeaveVoicemail) {
	if r := g.routes.to(cmd.Attempt); r != nil {
		r.tell(message{kind: kLeaveVoicemail, text: string(cmd.Message)})
		return
	}
	g.cfg.Media.LeaveVoicemail(cmd)
}

// HearDigit implements ports.Media. For a call elsewhere it returns no leg: the digit is forwarded
// there.
func (g *Gateway) HearDigit(a engine.AttemptID, digit byte) (by engine.LegID) {
	if r := g.routes.to(a); r != nil {
		r.tell(message{kind: kHearDigit, code: int(digit)})
		return ""
	}
	return g.cfg.Media.HearDigit(a, digit)
}

// CloseMedia implements ports.Media. For a call elsewhere it returns the quality that came with the
// last event of its leg.
func (g *Gateway) CloseMedia(a engine.AttemptID) engine.MediaQuality {
	r := g.routes.to(a)
	if r == nil {
		return g.cfg.Media.CloseMedia(a)
	}
	r.mu.Lock()
	q, closed := r.quality, r.closed
	r.mu.Unlock()
	if !closed {
		r.tell(message{kind: kCloseMedia})
	}
	return q
}

// AttachMedia implements ports.Media. For a call elsewhere, true means that the command was sent
// there.
func (g *Gateway) AttachMedia(a engine.AttemptID, sink func(engine.MediaEvent)) bool {
	r := g.routes.to(a)
	if r == nil {
		return g.cfg.Media.AttachMedia(a, sink)
	}
	r.mu.Lock()
	r.onMedia = sink
	r.mediaSerial++
	n := r.mediaSerial
	r.mu.Unlock()
	r.tell(message{kind: kAttachMedia, serial: n})
	return true
}

// OpenPeer implements ports.Media; the offer of a call elsewhere is filled in
// there.
func (g *Gateway) OpenPeer(a engine.AttemptID, leg engine.LegID, profile engine.MediaProfile) (offer []byte,
	err error) {
	if r := g.routes.to(a); r != nil {
		r.tell(message{kind: kOpenPeer, leg: leg, profile: profile})
		return nil, nil
	}
	return g.cfg.Media.OpenPeer(a, leg, profile)
}

// JoinPeer implements ports.Media; for a call elsewhere use JoinPeerThen.
func (g *Gateway) JoinPeer(a engine.AttemptID, leg engine.LegID, sdp []byte) error {
	if g.Away(a) {
		return errUnreachable
	}
	return g.cfg.Media.JoinPeer(a, leg, sdp)
}

// JoinPeerThen is JoinPeer of a call that may be elsewhere: then is called once,
// from any goroutine.
func (g *Gateway) JoinPeerThen(a engine.AttemptID, leg engine.LegID, sdp []byte, then func(error)) {
	r := g.routes.to(a)
	if r == nil {
		then(g.cfg.Media.JoinPeer(a, leg, sdp))
		return
	}
	r.ask(g, message{kind: kJoinPeer, leg: leg, sdp: sdp}, then)
}

// SendDigits implements ports.Media; for a call elsewhere use SendDigitsThen.
func (g *Gateway) SendDigits(a engine.AttemptID, digits string) (bySIP bool, err error) {
	if g.Away(a) {
		return false, errUnreachable
	}
	return g.cfg.Media.SendDigits(a, digits)
}

// SendDigitsThen sends keys to the callee of a call that may be elsewhere, on the media path or
// else by INFO on the leg. then is called once, from any goroutine.
func (g *Gateway) SendDigitsThen(a engine.AttemptID, leg engine.LegID, digits string, then func(error)) {
	r := g.routes.to(a)
	if r == nil {
		then(g.cfg.sendDigits(a, leg, digits))
		return
	}
	r.ask(g, message{kind: kSendDigits, leg: leg, text: digits}, then)
}

// ClosePeer implements ports.Media.
func (g *Gateway) ClosePeer(a engine.AttemptID, leg engine.LegID) {
	if r := g.routes.to(a); r != nil {
		r.tell(message{kind: kClosePeer, leg: leg})
		return
	}
	g.cfg.Media.ClosePeer(a, leg)
}

// Settled calls then, once and from any goroutine, when all commands sent so far for an attempt
// have been carried out; at once if its legs are here. It waits for as long as the other node
// lives; a node that is gone sends nothing any more, which also settles it.
func (g *Gateway) Settled(a engine.AttemptID, then func()) {
	r := g.routes.to(a)
	if r == nil || r.link == nil {
		then()
		return
	}
	g.ask(r.link, &message{kind: kSettle, attempt: a}, 0, errGone, func([]engine.LegID, error) { then() })
}

// ask asks the node with the legs, whether it has its lease or not.
func (r *route) ask(g *Gateway, m message, then func(error)) {
	if r.link == nil {
		then(errNotTheirs)
		return
	}
	m.attempt = r.id
	g.ask(r.link, &m, g.cfg.Patience, nil, func(_ []engine.LegID, err error) { then(err) })
}
