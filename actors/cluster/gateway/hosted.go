package gateway

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dialler/actors/cluster/link"
	"dialler/actors/inventory"
	"dialler/engine"
)

// hosted is a call whose legs are here and whose attempt belongs to another node.
type hosted struct {
	id engine.AttemptID

	// mu is never held while a port is called: its sinks take it.
	mu    sync.Mutex
	link  *link.Link // to the owner; nil means there is none
	epoch int64      // the owner's
	// turn distinguishes the current sinks from replaced ones.
	turn                   int
	legSerial, mediaSerial uint64 // the owner's numbers for its sinks
	stalled                bool   // events wait in the ports until the link has room
	// The last event of each leg sent to the owner's sinks: a replay after a stall continues from
	// there.
	legSeq   map[engine.LegID]int
	mediaSeq int
	offer    prepared
	peers    map[engine.LegID]prepared // far legs
	answered map[engine.LegID]struct{}
	over     bool                // the callee's leg is over too
	unplaced []engine.LegEvent   // of legs that the ports never saw
	media    []engine.MediaEvent // for an owner that arrives after the path is closed
	quality  *engine.MediaQuality
	ended    engine.BootTime // when it was hung up for lack of an owner
	alone    engine.BootTime // since when it has had no owner
}

// recovered stands for the last event of a leg being recovered: its numbers start again.
const recovered = -1

// prepared is the result of opening a path.
type prepared struct {
	offer []byte
	err   error
}

type hostShard struct {
	mu sync.RWMutex
	m  map[engine.AttemptID]*hosted
}

// hosts are the local calls that other nodes own, or that have no owner.
type hosts struct {
	n      atomic.Int64
	shards [shards]hostShard
}

func (hs *hosts) of(a engine.AttemptID) *hosted {
	s := &hs.shards[shardOf(a)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[a]
}

func (hs *hosts) add(a engine.AttemptID) *hosted {
	s := &hs.shards[shardOf(a)]
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.m[a]
	if h == nil {
		hs.n.Add(1)
		h = &hosted{id: a, legSerial: 1, mediaSerial: 1, peers: map[engine.LegID]prepared{},
			answered: map[engine.LegID]struct{}{}, legSeq: map[engine.LegID]int{}}
		s.m[a] = h
	}
	return h
}

func (hs *hosts) drop(h *hosted) {
	s := &hs.shards[shardOf(h.id)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[h.id] == h {
		delete(s.m, h.id)
		hs.n.Add(-1)
	}
}

func (hs *hosts) all() (all []*hosted) {
	for i := range hs.shards {
		s := &hs.shards[i]
		s.mu.RLock()
		for _, h := range s.m {
			all = append(all, h)
		}
		s.mu.RUnlock()
	}
	return all
}

// dropHost forgets a call: its sinks are silent from then on.
func (g *Gateway) dropHost(h *hosted) {
	g.hosts.drop(h)
	if r := g.routes.to(h.id); r != nil && r.link == nil {
		g.routes.drop(r)
	}
	h.mu.Lock()
	h.turn++
	l := h.link
	h.link = nil
	h.mu.Unlock()
	if l != nil {
		l.Use(-1)
	}
}

// Hosted counts the calls that this node carries for other owners, or without one.
func (g *Gateway) Hosted() int { return int(g.hosts.n.Load()) }

// OwnerOf returns the node that acts for a call whose legs are here; ok is false if no other node
// does.
func (g *Gateway) OwnerOf(a engine.AttemptID) (node engine.Incarnation, ok bool) {
	h := g.hosts.of(a)
	if h == nil {
		return 0, false
	}
	l, _ := h.owner()
	if l == nil {
		return 0, false
	}
	return l.Peer(), true
}

// keptFor is how long nothing may have come of the owner of a call, or have got there, before it counts
// as away.
const keptFor = 4 * link.Heartbeat

// Kept says whether another node that is heard of, and hears of this one, acts for a call here.
func (g *Gateway) Kept(a engine.AttemptID) bool {
	h := g.hosts.of(a)
	if h == nil {
		return false
	}
	l, _ := h.owner()
	return l != nil && l.ApartFor() < keptFor
}

// Leave says that this node owns an attempt no more whose legs are on a node: if that is this one, they are hung up
// unless another node adopts the attempt within OrphanAfter. peers are its far legs.
func (g *Gateway) Leave(a engine.AttemptID, node engine.Incarnation, epoch int64, peers []engine.LegID) {
	if r := g.routes.to(a); r != nil {
		if r.link != nil {
			g.routes.drop(r)
		}
		return
	}
	if !g.mine(node) {
		return // its next owner has begun it
	}
	h := g.hosts.add(a)
	h.mu.Lock()
	if h.link == nil {
		h.epoch = max(h.epoch, epoch)
		h.alone = g.cfg.Clock.Boot()
		h.turn++
	}
	for _, p := range peers {
		h.peers[p] = prepared{}
	}
	turn, taken := h.turn, h.link != nil
	h.mu.Unlock()
	if !taken {
		// From here on the ports keep the events for the next owner.
		g.cfg.Telephony.AttachLeg(a, h.legSink(g, turn))
		g.cfg.Media.AttachMedia(a, h.mediaSink(g, turn))
	}
}

// Replaced says that another node acts for an attempt whose legs are here: unless it adopts them
// within Patience, they are hung up. After this node was cut off, the new owner may need some time
// to find it again: it has as long as the call would have lasted if the cut had gone on.
func (g *Gateway) Replaced(a engine.AttemptID, peers []engine.LegID) {
	g.Leave(a, 0, 0, peers)
	if h := g.hosts.of(a); h != nil {
		h.mu.Lock()
		if h.link == nil {
			soon := g.cfg.Clock.Boot().Add(g.cfg.Patience - g.cfg.OrphanAfter)
			h.alone = min(h.alone, max(soon, engine.BootTime(g.fenced.Load())))
		}
		h.mu.Unlock()
	}
}

// own says whether the link's node is the owner of the call, or becomes it.
func (h *hosted) own(l *link.Link, epoch int64) bool {
	h.mu.Lock()
	old := h.link
	ok := old == l || epoch > h.epoch || epoch == h.epoch && (old == nil || old.Gone() || l.Peer() > old.Peer())
	if ok && old != l {
		h.link, h.epoch, h.alone = l, epoch, 0
		h.turn++
	}
	h.mu.Unlock()
	if ok && old != l {
		l.Use(1)
		if old != nil {
			old.Use(-1)
		}
	}
	return ok
}

func (h *hosted) owner() (*link.Link, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.link, h.turn
}

// legSink passes events on to the owner of that turn.
func (h *hosted) legSink(g *Gateway, turn int) func(engine.LegEvent) {
	return func(e engine.LegEvent) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.turn != turn {
			return
		}
		if e.Kind == engine.LegAnswered {
			h.answered[e.Leg] = struct{}{}
		}
		h.over = h.over || h.isLast(&e)
		last := h.legSeq[e.Leg]
		if h.link == nil || h.stalled || last != recovered && e.Seq <= last {
			return
		}
		m := &message{kind: kLegEvent, attempt: h.id, serial: h.legSerial, onLeg: &e}
		if h.tell(g, m) {
			h.stall(g)
			return
		}
		if last != recovered {
			h.legSeq[e.Leg] = e.Seq
		}
	}
}

// tell sends the event; the last one carries the call's quality, because once the callee's leg is
// over nobody is left to hear anything. mu is held; the link closes the media path later, outside
// all locks of the ports.
func (h *hosted) tell(g *Gateway, m *message) (full bool) {
	if !h.isLast(m.onLeg) {
		return h.link.Tell(Name, gather, false, m.say)
	}
	return h.link.TellLate(Name, gather, false, func(w *link.Wire) {
		q := h.closeMedia(g)
		m.quality = &q
		m.say(w)
	})
}

// isLast says whether the event is the last of the callee's leg.
func (h *hosted) isLast(e *engine.LegEvent) bool {
	_, answered := h.answered[e.Leg]
	_, far := h.peers[e.Leg]
	return e.Kind.Final() && answered && !far
}

func (h *hosted) mediaSink(g *Gateway, turn int) func(engine.MediaEvent) {
	return func(e engine.MediaEvent) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.turn != turn {
			return
		}
		if e.Seq == len(h.media)+1 {
			h.media = append(h.media, e)
		}
		h.heard(g, e)
	}
}

// heard passes a media event on; mu is held.
func (h *hosted) heard(g *Gateway, e engine.MediaEvent) {
	if h.link == nil || h.stalled || e.Seq <= h.mediaSeq {
		return
	}
	m := message{kind: kMediaEvent, attempt: h.id, serial: h.mediaSerial, onMedia: &e}
	if h.link.Tell(Name, gather, false, m.say) {
		h.stall(g)
		return
	}
	h.mediaSeq = e.Seq
}

// stall leaves the events in the ports until there is room; mu is held.
func (h *hosted) stall(g *Gateway) {
	h.stalled = true
	h.turn++
	g.Stalls.Add(1)
}

// closeMedia closes the media path, once.
func (h *hosted) closeMedia(g *Gateway) engine.MediaQuality {
	h.mu.Lock()
	if h.quality != nil {
		defer h.mu.Unlock()
		return *h.quality
	}
	h.mu.Unlock()
	q := g.cfg.Media.CloseMedia(h.id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quality == nil {
		h.quality = &q
	}
	return *h.quality
}

// attachLegs and attachMedia begin the replay to the present owner.
func (h *hosted) attachLegs(g *Gateway, turn int) {
	sink := h.legSink(g, turn)
	g.cfg.Telephony.AttachLeg(h.id, sink)
	h.mu.Lock()
	unplaced := slices.Clone(h.unplaced)
	h.mu.Unlock()
	for _, e := range unplaced {
		sink(e)
	}
}

func (h *hosted) attachMedia(g *Gateway, turn int) {
	if g.cfg.Media.AttachMedia(h.id, h.mediaSink(g, turn)) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.media {
		if h.turn != turn {
			return
		}
		h.heard(g, e)
	}
}

// attach replays everything that has happened to the owner's new sink.
func (h *hosted) attach(g *Gateway, m *message) {
	h.mu.Lock()
	if m.kind == kAttachLegs {
		h.legSerial = m.serial
		clear(h.legSeq)
	} else {
		h.mediaSerial, h.mediaSeq = m.serial, 0
	}
	turn := h.turn
	h.mu.Unlock()
	if m.kind == kAttachLegs {
		h.attachLegs(g, turn)
	} else {
		h.attachMedia(g, turn)
	}
}

// adopted makes another node the owner of a call and lists its legs.
func (g *Gateway) adopted(l *link.Link, m *message, result func([]engine.LegID, error)) {
	// A call that this node itself left has no command of an earlier owner in flight.
	left := true
	if h := g.hosts.of(m.attempt); h != nil {
		before, _ := h.owner()
		left = before == nil
	}
	h := g.hosts.add(m.attempt)
	if !h.own(l, m.epoch) {
		result(nil, errNotTheirs)
		return
	}
	if g.routes.to(m.attempt) == nil {
		// From here on commands from a local actor for this call are ignored.
		g.routes.add(m.attempt, nil, nil)
		g.cfg.Taken(m.attempt)
	}
	h.mu.Lock()
	h.turn++ // invalidates messages in flight to an earlier sink of the node
	h.legSerial, h.mediaSerial, h.stalled, h.mediaSeq = 0, 0, false, 0
	clear(h.legSeq)
	for _, p := range m.legs {
		if _, ok := h.peers[p]; !ok {
			h.peers[p] = prepared{}
		}
	}
	h.mu.Unlock()
	// Events are discarded until the owner attaches: then everything is replayed.
	legs := g.cfg.Telephony.AttachLeg(m.attempt, func(engine.LegEvent) {})
	h.mu.Lock()
	for _, e := range h.unplaced {
		legs = append(legs, e.Leg)
	}
	h.mu.Unlock()
	if len(legs) == 0 && left { // the owner presumes it lost and sends no further command
		h.closeMedia(g)
		g.dropHost(h)
	}
	result(legs, nil)
}

// lookAfter ends a call without an owner, and resumes one that was stalled.
func (h *hosted) lookAfter(g *Gateway, now engine.BootTime) {
	h.mu.Lock()
	link, alone, ended := h.link, time.Duration(0), h.ended
	switch {
	case link != nil:
		alone = link.ApartFor()
	case h.alone != 0:
		alone = time.Duration(now - h.alone)
	}
	again := h.stalled && link != nil && link.Room()
	if again {
		h.stalled = false
	}
	turn := h.turn
	if alone >= g.cfg.OrphanAfter && ended == 0 {
		h.ended = now
	}
	// No owner will ask to close the audio.
	silent := h.quality == nil && (ended != 0 || h.over && alone >= keptFor)
	h.mu.Unlock()
	if silent {
		h.closeMedia(g)
	}
	switch {
	case again:
		h.attachLegs(g, turn)
		h.attachMedia(g, turn)
	case alone < g.cfg.OrphanAfter:
	case ended == 0:
		g.Orphans.Add(1)
		g.cfg.Log.Warn().Str("attempt_id",
			string(h.id)).Msg("a call's owner is gone and nobody has taken the call over; it is hung up")
		inventory.End(g.cfg.Telephony, g.cfg.Media, h.id, h.legSink(g, turn))
	case time.Duration(now-ended) >= g.cfg.Keep:
		h.closeMedia(g)
		g.cfg.Telephony.ForgetLegs(h.id)
		g.dropHost(h)
	}
}
