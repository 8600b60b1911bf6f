package gateway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/gateway"
	"dialler/actors/cluster/link"
	"dialler/engine"
)

// network carries messages between gateways, as unreliably as it is told to.
type network struct {
	mu    sync.Mutex
	nodes map[engine.Incarnation]*node
	rand  *rand.Rand
	// Percentages of messages lost and duplicated; each takes up to delay, so that they overtake
	// each other. cut are the isolated nodes.
	lose, twice int
	delay       time.Duration
	cut         map[engine.Incarnation]bool
	silent      engine.Incarnation // nobody hears it, 0: nobody is
	frames      int
	bytes       int
	room        int // bytes that may wait for a node; applies to nodes that join later
}

func links(c link.Clock, room int, t link.Transport) *link.Links {
	ls := link.New(link.Config{Clock: c, QueueCap: room, Log: zerolog.Nop()})
	ls.Through(t)
	return ls
}

func newNetwork(seed uint64) *network {
	return &network{
		nodes: map[engine.Incarnation]*node{},
		rand:  rand.New(rand.NewPCG(seed, 7)),
		cut:   map[engine.Incarnation]bool{},
	}
}

func (n *network) set(lose, twice int, delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose, n.twice, n.delay = lose, twice, delay
}

func (n *network) isolate(node engine.Incarnation, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[node] = cut
}

func (n *network) silence(node engine.Incarnation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = node
}

// port is one node's way into the network.
type port struct {
	n    *network
	self engine.Incarnation
}

func (p port) Send(to engine.Incarnation, payload []byte) {
	n := p.n
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frames++
	n.bytes += len(payload)
	dest := n.nodes[to]
	if dest == nil || n.cut[to] || n.cut[p.self] || n.silent != 0 && n.silent == p.self {
		return
	}
	copies := 1
	if n.rand.IntN(100) < n.twice {
		copies = 2
	}
	for range copies {
		if n.rand.IntN(100) < n.lose {
			continue
		}
		var after time.Duration
		if n.delay > 0 {
			after = time.Duration(n.rand.Int64N(int64(n.delay)))
		}
		time.AfterFunc(after, func() { dest.links.Receive(payload) })
	}
}

// clock is a node's own: its boot-time clock started at a different moment from the others'.
type clock struct {
	start time.Time
	boot  engine.BootTime
}

func (c clock) Now() time.Time        { return time.Now() }
func (c clock) Boot() engine.BootTime { return c.boot.Add(time.Since(c.start)) }

// ports are a telephony and a media that record commands, and whose events a test generates.
type ports struct {
	mu     sync.Mutex
	clock  clock
	log    []string
	legs   map[engine.LegID]*portLeg
	order  []engine.LegID
	calls  map[engine.AttemptID]*portCall
	refuse error // returned by Open and OpenPeer
	bySIP  bool
	closed int
	// socketSink gets the events of the socket opened last.
	socketSink func(engine.SocketEvent)
}

type portLeg struct {
	cmd    engine.PlaceLeg
	events []engine.LegEvent
	sink   func(engine.LegEvent)
}

type portCall struct {
	events []engine.MediaEvent
	sink   func(engine.MediaEvent)
	bot    engine.AttachBot
	answer time.Time
}

func newPorts(c clock) *ports {
	return &ports{clock: c, legs: map[engine.LegID]*portLeg{}, calls: map[engine.AttemptID]*portCall{}}
}

func (p *ports) note(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

func (p *ports) entries() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log)
}

// emit generates an event of a leg, as the carrier would.
func (p *ports) emit(leg engine.LegID, e engine.LegEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.legs[leg]
	if l == nil {
		return
	}
	e.Attempt, e.Leg, e.Seq, e.At = l.cmd.Attempt, leg, len(l.events)+1, time.Now()
	l.events = append(l.events, e)
	if l.sink != nil {
		l.sink(e)
	}
}

func (p *ports) emitMedia(a engine.AttemptID, e engine.MediaEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[a]
	if c == nil {
		return
	}
	e.Attempt, e.Seq, e.At = a, len(c.events)+1, time.Now()
	c.events = append(c.events, e)
	if c.sink != nil {
		c.sink(e)
	}
}

func (p *ports) PlaceLeg(cmd engine.PlaceLeg, sink func(engine.LegEvent)) {
	p.mu.Lock()
	p.note("place %s offer %s", cmd.Leg, cmd.Offer)
	l := &portLeg{cmd: cmd, sink: sink}
	p.legs[cmd.Leg] = l
	p.order = append(p.order, cmd.Leg)
	late := p.clock.Boot() > cmd.SendBy
	p.mu.Unlock()
	if late {
		p.emit(cmd.Leg, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentExpired})
		return
	}
	p.emit(cmd.Leg, engine.LegEvent{Kind: engine.LegSent})
}

func (p *ports) did(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(format, args...)
}

func (p *ports) ConfirmLeg(leg engine.LegID)          { p.did("confirm %s", leg) }
func (p *ports) RefuseLeg(leg engine.LegID, code int) { p.did("refuse %s %d", leg, code) }
func (p *ports) RingLeg(leg engine.LegID)             { p.did("ring %s", leg) }
func (p *ports) CancelLeg(leg engine.LegID) engine.CancelOutcome {
	p.did("cancel %s", leg)
	return engine.CancelOwed
}

func (p *ports) HangUpLeg(leg engine.LegID, cause engine.HangUpCause) {
	p.did("hang up %s %d", leg, cause.Q850)
}

func (p *ports) SendDigit(leg engine.LegID, key byte, _ time.Duration) bool {
	p.did("info %s %c", leg, key)
	return true
}

func (p *ports) AnswerRefer(leg engine.LegID, accept bool) bool {
	p.did("refer %s %v", leg, accept)
	return true
}

func (p *ports) NotifyRefer(leg engine.LegID, code int, reason string) {
	p.did("notify %s %d %s", leg, code, reason)
}

func (p *ports) AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) (ids []engine.LegID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.order {
		if l := p.legs[id]; l != nil && l.cmd.Attempt == a {
			l.sink = sink
			for _, e := range l.events {
				sink(e)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

func (p *ports) ForgetLegs(a engine.AttemptID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note("forget %s", a)
	for id, l := range p.legs {
		if l.cmd.Attempt == a {
			delete(p.legs, id)
		}
	}
}

func (p *ports) RecoverLeg(r engine.RecoveredLeg, sink func(engine.LegEvent)) {
	p.mu.Lock()
	p.note("recover %s", r.Leg)
	p.legs[r.Leg] = &portLeg{cmd: engine.PlaceLeg{Attempt: r.Attempt, Leg: r.Leg}, sink: sink}
	p.mu.Unlock()
	p.emit(r.Leg, engine.LegEvent{Kind: engine.LegClosed})
}

func (p *ports) Ask(context.Context, string) error { return nil }
func (p *ports) Calling(engine.PhoneNumber) bool   { return true }

func (p *ports) Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note("open %s", cmd.Attempt)
	if p.refuse != nil {
		return nil, p.refuse
	}
	c := p.calls[cmd.Attempt]
	if c == nil {
		c = &portCall{}
		p.calls[cmd.Attempt] = c
	}
	c.sink = sink
	for _, e := range c.events {
		sink(e)
	}
	return []byte("offer"), nil
}

func (p *ports) Answer(a engine.AttemptID, sdp []byte, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note("answer %s %s", a, sdp)
	if c := p.calls[a]; c != nil {
		c.answer = at
	}
}

func (p *ports) AttachBot(cmd engine.AttachBot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note("bot %s %s", cmd.Attempt, cmd.Session)
	if c := p.calls[cmd.Attempt]; c != nil {
		c.bot = cmd
	}
}

func (p *ports) OpenSocket(cmd engine.OpenSocket, sink func(engine.SocketEvent)) {
	p.did("open socket %s", cmd.Socket)
	p.mu.Lock()
	p.socketSink = sink
	p.mu.Unlock()
}
func (p *ports) CloseSocket(id engine.SocketID, _ engine.Incarnation) { p.did("close socket %s", id) }
func (p *ports) CloseSockets(of engine.CampaignID)                    { p.did("close sockets of %s", of) }
func (p *ports) AskBot(context.Context, engine.AskBot) error          { return nil }
func (p *ports) DetachBot(a engine.AttemptID)                         { p.did("detach %s", a) }
func (p *ports) PlayMessage(a engine.AttemptID)                       { p.did("play %s", a) }
func (p *ports) LeaveVoicemail(cmd engine.LeaveVoicemail) {
	p.did("leave %s %s", cmd.Attempt, cmd.Message)
}
func (p *ports) HearEarly(a engine.AttemptID, sdp []byte) { p.did("hear early %s %s", a, sdp) }
func (p *ports) HearDigit(a engine.AttemptID, digit byte) engine.LegID {
	p.did("hear %s %c", a, digit)
	if p.bySIP {
		return a.Leg(2)
	}
	return ""
}

func (p *ports) SendDigits(a engine.AttemptID, digits string) (bool, error) {
	p.did("keys %s %s", a, digits)
	if p.refuse != nil {
		return false, p.refuse
	}
	return p.bySIP, nil
}

func (p *ports) CloseMedia(a engine.AttemptID) engine.MediaQuality {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
	if p.calls[a] == nil {
		return engine.MediaQuality{}
	}
	delete(p.calls, a)
	return engine.MediaQuality{PacketsReceived: 77, Codec: "PCMU", Recording: &engine.Recording{ID: "rec"}}
}

func (p *ports) AttachMedia(a engine.AttemptID, sink func(engine.MediaEvent)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[a]
	if c == nil {
		return false
	}
	c.sink = sink
	for _, e := range c.events {
		sink(e)
	}
	return true
}

func (p *ports) OpenPeer(_ engine.AttemptID, leg engine.LegID, _ engine.MediaProfile) ([]byte, error) {
	p.did("open peer %s", leg)
	return []byte("peer offer"), p.refuse
}

func (p *ports) JoinPeer(_ engine.AttemptID, leg engine.LegID, sdp []byte) error {
	p.did("join %s %s", leg, sdp)
	return p.refuse
}

func (p *ports) ClosePeer(_ engine.AttemptID, leg engine.LegID) { p.did("close peer %s", leg) }

// node is a member of a test's cluster.
type node struct {
	*gateway.Gateway
	id    engine.Incarnation
	links *link.Links
	ports *ports
	clock clock
}

// join adds a node whose boot-time clock reads boot.
func (n *network) join(t *testing.T, id engine.Incarnation, boot engine.BootTime, edit func(*gateway.Config)) *node {
	t.Helper()
	c := clock{start: time.Now(), boot: boot}
	m := &node{id: id, ports: newPorts(c), clock: c}
	cfg := gateway.Config{Telephony: m.ports, Media: m.ports, Clock: c, Log: zerolog.Nop()}
	if edit != nil {
		edit(&cfg)
	}
	m.links = links(c, n.room, port{n, id}.Send)
	cfg.Links = m.links
	m.Gateway = gateway.New(cfg)
	m.Join(id)
	n.mu.Lock()
	n.nodes[id] = m
	n.mu.Unlock()
	return m
}

// close ends the nodes, because a bubble requires all their goroutines to be gone.
func (n *network) close() {
	n.mu.Lock()
	var all []*node
	for _, m := range n.nodes {
		all = append(all, m)
	}
	clear(n.nodes)
	n.mu.Unlock()
	for _, m := range all {
		m.Close()
		m.links.Close()
	}
}

// call names an attempt.
func call(i int) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("%032x", i)) }

// owned is the owner's side of a call: what its sinks have received.
type owned struct {
	mu    sync.Mutex
	legs  []engine.LegEvent
	media []engine.MediaEvent
}

func (o *owned) leg(e engine.LegEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.legs = append(o.legs, e)
}

func (o *owned) heard(e engine.MediaEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.media = append(o.media, e)
}

func (o *owned) kinds() (list []engine.LegEventKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.legs {
		list = append(list, e.Kind)
	}
	return list
}

func (o *owned) mediaKinds() (list []engine.MediaEventKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.media {
		list = append(list, e.Kind)
	}
	return list
}

// dial opens and places the first leg of a call on another node.
func (m *node) dial(a engine.AttemptID, on engine.Incarnation, o *owned) {
	_, _ = m.Open(engine.OpenMedia{Attempt: a, Node: on, Epoch: 1}, o.heard)
	m.PlaceLeg(engine.PlaceLeg{Attempt: a, Leg: a.Leg(1), SendBy: m.clock.Boot().Add(10 * time.Second)}, o.leg)
}
