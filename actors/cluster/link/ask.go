package link

import (
	"errors"
	"fmt"
	"time"

	"dialler/engine"
)

// The kinds of item.
const (
	itemTold = 1 + iota
	itemAsked
	itemAnswer
)

// Question is a request to another node.
type Question struct {
	Name string // of the receiver
	// Within bounds the wait for the answer; 0 means as long as both processes live.
	Within time.Duration
	// Leave bounds how long the question may wait to be sent while the other node is silent; 0
	// means Within.
	Leave time.Duration
	// Gather is how long it waits to be sent together with other messages.
	Gather time.Duration
	// Must sends the question even if too much is waiting for the other node.
	Must bool
	// Gone answers the question once the other node's lease is over; nil means keep waiting.
	Gone error
	Say  func(*Wire)
	// Then is called once, from any goroutine: with the answer, which must be read before it
	// returns, or with an error: one of those below, or an *engine.Error of the other node.
	Then func(*Wire, error)
}

// Errors of questions.
var (
	// ErrNotSent means it was certainly not carried out: the other node is silent, or too much is
	// waiting for it.
	ErrNotSent = errors.New("link: the request was not sent")
	// ErrSilent means it may have been carried out.
	ErrSilent = errors.New("link: no answer in time")
	// ErrOver means the process that was asked is not, or no longer, that incarnation.
	ErrOver = errors.New("link: that incarnation of the node is over")
	// ErrVersion means the two nodes have no protocol version in common.
	ErrVersion = engine.Unavailable("node_version",
		"",
		5*time.Second)
	// errUnknown means the other node has no handler of that name.
	errUnknown = engine.Unavailable(
		"method_unknown",
		"",
		time.Second,
	)
	// ErrTooLarge means the question exceeds the size limit of one message.
	ErrTooLarge = &engine.Error{Kind: engine.KindTooLarge, Code: "request_too_large",
		Detail: "a message between nodes may have at most 4 MiB; send it in parts"}
)

// pending is an unanswered question.
type pending struct {
	item  uint64 // its number
	left  bool   // its item was dealt with: it may have been carried out
	by    engine.BootTime
	gone  error
	then  func(*Wire, error)
	timer *time.Timer
}

// unanswered are questions that end without an answer.
type unanswered []*pending

func (all unanswered) end(w *Wire, err error) {
	for _, p := range all {
		if p.timer != nil {
			p.timer.Stop()
		}
		p.then(w, err)
	}
}

// fail ends the questions that were never sent with the error. Those that were sent may have been
// carried out.
func (all unanswered) fail(err error) {
	for _, p := range all {
		if p.left {
			unanswered{p}.end(nil, ErrSilent)
		} else {
			unanswered{p}.end(nil, err)
		}
	}
}

// Ask sends a question.
func (l *Link) Ask(q Question) {
	w := l.writer()
	kind, by := uint8(itemAsked), engine.BootTime(0)
	if q.Within > 0 {
		by = w.clock.Boot.Add(q.Within)
	}
	id := l.serial.Add(1)
	Number(&w, &kind)
	Text(&w, &q.Name)
	w.Unsigned(&id)
	w.SendBy(&by)
	q.Say(&w)
	p := &pending{by: by, gone: q.Gone, then: q.Then}
	l.mu.Lock()
	var err error
	switch {
	case l.foreign:
		err = ErrVersion
	case q.Gone != nil && l.Gone():
		err = q.Gone
	case l.closed, !q.Must && l.full():
		err = ErrNotSent
	case len(w.b) > itemCap:
		err = ErrTooLarge
	}
	if err != nil {
		l.mu.Unlock()
		q.Then(nil, err)
		return
	}
	p.item = l.base + uint64(len(l.queue))
	l.pending[id] = p
	if first := q.Within; first > 0 {
		if q.Leave > 0 {
			first = min(first, q.Leave)
		}
		p.timer = time.AfterFunc(first, func() { l.late(id, p) })
	}
	wake := l.queued(parcel{b: w.b}, q.Gather)
	l.mu.Unlock()
	if wake {
		l.poke()
	}
}

// late ends a question whose time is over. It is not sent, or sent again, afterwards.
func (l *Link) late(id uint64, p *pending) {
	l.mu.Lock()
	if l.pending[id] != p {
		l.mu.Unlock()
		return
	}
	left := p.item <= l.reached
	if rest := time.Duration(p.by - l.of.cfg.Clock.Boot()); left && rest > 0 {
		p.timer.Reset(rest)
		l.mu.Unlock()
		return
	}
	delete(l.pending, id)
	l.withdraw(p.item)
	l.mu.Unlock()
	err := ErrSilent
	if !left {
		err = ErrNotSent
	}
	p.then(nil, err)
}

// withdraw empties an unacknowledged item; mu is held.
func (l *Link) withdraw(item uint64) {
	if item < l.base {
		return
	}
	i := int(item - l.base) //nolint:gosec // no longer than the queue
	if !l.queue[i].empty() {
		l.live--
	}
	l.waiting -= len(l.queue[i].b)
	if i < l.sent {
		l.flying -= len(l.queue[i].b)
	}
	l.queue[i] = parcel{}
}

// withdrawAll empties all of them; mu is held.
func (l *Link) withdrawAll() {
	for i := range l.queue {
		l.withdraw(l.base + uint64(i))
	}
}

// takeAll removes and returns all open questions; mu is held.
func (l *Link) takeAll() (all unanswered) {
	for id, p := range l.pending {
		p.left = p.item <= l.reached
		all = append(all, p)
		if !l.closed {
			l.withdraw(p.item)
		}
		delete(l.pending, id)
	}
	return all
}

// lost handles that the process at the other end is not the incarnation that was asked.
func (l *Link) lost() {
	l.over.Store(true)
	l.mu.Lock()
	l.doubt = true
	failed := l.takeAll()
	l.mu.Unlock()
	failed.fail(ErrOver)
}

// leave handles the end of the other node's lease.
func (l *Link) leave() {
	l.gone.CompareAndSwap(0, int64(l.of.cfg.Clock.Boot()))
	l.mu.Lock()
	var failed unanswered
	for id, p := range l.pending {
		if p.gone != nil {
			if !l.closed {
				l.withdraw(p.item) // it is not carried out later either
			}
			failed = append(failed, p)
			delete(l.pending, id)
		}
	}
	l.mu.Unlock()
	for _, p := range failed {
		unanswered{p}.end(nil, p.gone)
	}
}

// Said is a message from another node to a receiver.
type Said struct {
	*Wire
	Link *Link
	// Until is when the answer would be too late, on this node's clock; 0 means never.
	Until engine.BootTime
	ask   uint64
}

// Asked says that an answer is expected.
func (s *Said) Asked() bool { return s.ask != 0 }

// Answer answers a question once, now or later, from any goroutine: with an error, or with what say
// writes (nil means an empty answer).
func (s *Said) Answer(err error, gather time.Duration, say func(*Wire)) {
	w := s.Link.writer()
	kind := uint8(itemAnswer)
	Number(&w, &kind)
	w.Unsigned(&s.ask)
	e := failure(err)
	Optional(&w, &e, w.failure)
	if e == nil && say != nil {
		say(&w)
	}
	s.Link.put(parcel{b: w.b}, gather, true)
}

// failure converts an error for the wire.
func failure(err error) *engine.Error {
	var e *engine.Error
	if err == nil || errors.As(err, &e) {
		return e
	}
	return &engine.Error{Kind: engine.KindInternal, Code: "internal",
		Detail: "the node responsible for this failed; its log says why"}
}

func (w *Wire) failure(e *engine.Error) { Value(w, e) }

// writer starts an item.
func (l *Link) writer() Wire {
	v := max(l.version.Load(), Oldest)
	w := Wire{b: make([]byte, 0, 192), clock: l.of.moment(), version: v}
	w.Unsigned(&v)
	return w
}

// tell encodes an item that needs no answer.
func (l *Link) tell(name string, say func(*Wire)) []byte {
	w := l.writer()
	kind := uint8(itemTold)
	Number(&w, &kind)
	Text(&w, &name)
	say(&w)
	return w.b
}

// deal processes one item of the other node; the link preserves their order.
func (l *Link) deal(b []byte, at Moment) {
	if len(b) == 0 { // it was withdrawn
		return
	}
	w := &Wire{b: b, reading: true, clock: at}
	var kind uint8
	w.Unsigned(&w.version)
	Number(w, &kind)
	defer func() {
		r := recover()
		if r == nil && w.Whole() {
			return
		}
		why := ErrMalformed.Error()
		if r != nil {
			why = fmt.Sprint(r)
		}
		l.of.stats.Malformed.Add(1)
		l.of.cfg.Log.Error().Str("why", why).Int32("node", int32(l.peer)).Msg("dropping a message from another node")
	}()
	switch kind {
	case itemTold, itemAsked:
		l.receive(w, kind == itemAsked)
	case itemAnswer:
		l.answered(w)
	default:
		w.Fail()
	}
}

func (l *Link) receive(w *Wire, asked bool) {
	var name string
	Text(w, &name)
	s := Said{Wire: w, Link: l}
	if asked {
		w.Unsigned(&s.ask)
		w.SendBy(&s.Until)
	}
	take := l.of.receiver(name)
	switch {
	case w.bad:
	case take != nil:
		take(&s)
	default:
		w.Skip()
		l.of.stats.Strays.Add(1)
		if asked {
			s.Answer(errUnknown, 0, nil)
		}
	}
}

func (l *Link) answered(w *Wire) {
	var id uint64
	var e *engine.Error
	w.Unsigned(&id)
	Optional(w, &e, w.failure)
	l.mu.Lock()
	p := l.pending[id]
	delete(l.pending, id)
	l.mu.Unlock()
	switch {
	case p == nil: // too late
		w.Skip()
	case w.bad:
		unanswered{p}.end(nil, ErrMalformed)
	case e != nil:
		unanswered{p}.end(nil, e)
	default:
		unanswered{p}.end(w, nil)
	}
}
