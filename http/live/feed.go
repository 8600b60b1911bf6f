package live

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/access"
	"dialler/http/form"
	"dialler/http/wire"
)

// look asks the dialler for what a feed shows.
type look func(ctx context.Context) (list []campaign.Detail, total int, err error)

// Feeds are what is being watched, one feed each however many watch it, and
// the bounds of watching. Nothing is asked while nobody watches.
type Feeds struct {
	// Interval is how long a feed waits before it looks again, heartbeat how
	// often a stream looks after its client, patience how long a client may take
	// to read what was sent.
	Interval, Heartbeat, Patience time.Duration
	// Linger is how long a feed without watchers is remembered, so that a
	// client that comes back goes on where it was.
	Linger time.Duration
	// After gives a timer's channel and what stops it.
	After func(time.Duration) (c <-chan time.Time, stop func() bool)

	cap, capEach int
	host         *wire.Host
	gate         *access.Gate
	campaigns    Campaigns
	figures      Figures

	mu     sync.Mutex
	open   map[string]*Feed
	held   int
	heldBy map[string]int
}

// Campaigns are what is watched.
type Campaigns interface {
	// Detail: NotFound "campaign_not_found" when there is none.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// List gives one page, newest first, and how many there are.
	List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error)
}

// Figures count streams.
type Figures struct {
	Open    prometheus.Gauge
	Dropped prometheus.Counter // the client did not read
}

const (
	feedInterval    = time.Second
	feedLinger      = 30 * time.Second
	streamHeartbeat = 4 * time.Second // twice in the ten seconds that a client waits
	StreamPatience  = 10 * time.Second

	// lookTimeout bounds one look, looksFailed how many may fail in a row before
	// the watchers are sent away: they come back, and are told why not.
	lookTimeout = 5 * time.Second
	looksFailed = 10

	// feedMemory is how many states back a client may be and still go on with
	// deltas.
	feedMemory = 30
)

// New makes feeds of campaigns: so many streams in all, and so many of each user or key.
func New(h *wire.Host, gate *access.Gate, campaigns Campaigns, total, each int, figures Figures) *Feeds {
	return &Feeds{
		Interval: feedInterval, Heartbeat: streamHeartbeat, Patience: StreamPatience, Linger: feedLinger,
		After: func(d time.Duration) (<-chan time.Time, func() bool) {
			t := time.NewTimer(d)
			return t.C, t.Stop
		},
		cap: total, capEach: each, host: h, gate: gate, campaigns: campaigns, figures: figures,
		open: make(map[string]*Feed), heldBy: make(map[string]int),
	}
}

// hold takes one of the streams that there may be, for a user or key.
func (f *Feeds) hold(who string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.heldBy[who] >= f.capEach:
		return &engine.Error{Kind: engine.KindTooMany, Code: "too_many_streams", RetryAfter: f.Heartbeat,
			Detail: "You have too many streams open; close some, or wait for Retry-After."}
	case f.held >= f.cap:
		return engine.Unavailable(
			"too_many_streams",
			"",
			f.Heartbeat,
		)
	}
	f.held++
	f.heldBy[who]++
	return nil
}

func (f *Feeds) release(who string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held--
	if f.heldBy[who]--; f.heldBy[who] == 0 {
		delete(f.heldBy, who)
	}
}

// Stop ends every stream and waits for them until ctx ends.
func (f *Feeds) Stop(ctx context.Context) {
	f.mu.Lock()
	for _, d := range f.open {
		d.forgotten.Stop()
	}
	f.mu.Unlock()
	f.host.Leisure.Stop(ctx)
}

// feed gives the feed of a key, a new one when there is none.
func (f *Feeds) feed(key string, list bool, ask look) *Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.open[key]
	if d == nil {
		d = &Feed{feeds: f, key: key, ask: ask, epoch: wire.RandomText(8), looking: make(chan struct{}, 1),
			picture: picture{list: list}, watchers: make(map[*watcher]struct{})}
		d.forgotten = time.AfterFunc(f.Linger, d.Expire)
		f.open[key] = d
	}
	return d
}

// Watched gives the feed of a key while it is remembered, nil otherwise.
func (f *Feeds) Watched(key string) *Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[key]
}

// Count is how many streams are open.
func (f *Feeds) Count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

func (f *Feeds) drop(d *Feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[d.key] == d {
		delete(f.open, d.key)
	}
}

// Feed is one picture that changes, and the clients that are kept informed.
// Its states are numbered; of the last ones it remembers how each came about.
type Feed struct {
	feeds   *Feeds
	key     string
	ask     look
	epoch   string        // of this feed, so that another's states are not mistaken for its own
	looking chan struct{} // held during a look: one at a time, so that none is overtaken

	mu       sync.Mutex
	picture  picture
	state    uint64   // the newest, from 1; 0: nothing is known yet
	deltas   [][]byte // events that lead to the newest states
	snapshot []byte   // event with the newest state, nil when it has to be written anew
	over     bool     // nothing more comes
	gone     bool     // because what is watched is gone
	watchers map[*watcher]struct{}
	stop     context.CancelFunc // of the loop, nil while nobody watches

	forgotten *time.Timer
}

// watcher is one client's place in a feed.
type watcher struct {
	feed  *Feed
	wake  chan struct{} // there may be something new
	state uint64        // what the client has, 0: nothing
	greet bool          // nothing was sent yet
}

// ready makes sure that the feed knows something recent.
func (d *Feed) ready(ctx context.Context) error {
	d.mu.Lock()
	d.forgotten.Reset(d.feeds.Linger)
	recent := d.stop != nil && d.state > 0
	d.mu.Unlock()
	if recent {
		return nil
	}
	return d.look(ctx)
}

// look asks once, and tells the watchers what changed.
func (d *Feed) look(ctx context.Context) error {
	select {
	case d.looking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.looking }()
	list, total, err := d.ask(ctx)
	if err != nil {
		if wire.AsError(err).Kind == engine.KindNotFound {
			d.end(true)
		}
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	patch, err := d.picture.move(list, total)
	if err != nil {
		return err
	}
	d.snapshot = nil
	if patch == nil && d.state > 0 {
		return nil
	}
	d.state++
	if d.state == 1 {
		return nil // nobody has anything yet
	}
	if len(d.deltas) == feedMemory {
		d.deltas = d.deltas[1:]
	}
	d.deltas = append(d.deltas, d.event("delta", d.state, patch))
	d.tell()
	return nil
}

// event is one event as it goes on the wire.
func (d *Feed) event(name string, state uint64, data []byte) []byte {
	return fmt.Appendf(nil, "id: %s-%d\nevent: %s\ndata: %s\n\n", d.epoch, state, name, data)
}

func (d *Feed) tell() {
	for w := range d.watchers {
		select {
		case w.wake <- struct{}{}:
		default: // it knows already
		}
	}
}

// end sends the watchers away; a new one gets a new feed.
func (d *Feed) end(gone bool) {
	d.feeds.drop(d)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over, d.gone = true, d.gone || gone
	d.forgotten.Stop()
	d.tell()
}

// Expire forgets a feed that nobody came back to.
func (d *Feed) Expire() {
	d.mu.Lock()
	watched := len(d.watchers) > 0
	d.mu.Unlock()
	if !watched {
		d.feeds.drop(d)
	}
}

// run looks again and again while somebody watches.
func (d *Feed) run(ctx context.Context) {
	defer d.feeds.host.Leisure.Work.Done()
	defer func() {
		if p := recover(); p != nil {
			d.feeds.host.Panicked(p)
			d.end(false)
		}
	}()
	for failed := 0; ; {
		wait, stop := d.feeds.After(d.feeds.Interval)
		select {
		case <-ctx.Done():
			stop()
			return
		case <-wait:
		}
		c, cancel := context.WithTimeout(ctx, lookTimeout)
		err := d.look(c)
		cancel()
		if err == nil {
			failed = 0
			continue
		}
		if wire.AsError(err).Kind == engine.KindNotFound {
			return
		}
		if failed++; failed == looksFailed {
			d.end(false)
			return
		}
	}
}

// watch adds a client that has seen the event with the id last, "" for none.
func (d *Feed) watch(last string) *watcher {
	w := &watcher{feed: d, wake: make(chan struct{}, 1), greet: true}
	w.wake <- struct{}{}
	d.mu.Lock()
	defer d.mu.Unlock()
	w.state = d.known(last)
	d.watchers[w] = struct{}{}
	d.forgotten.Stop()
	if d.stop == nil && !d.over {
		var ctx context.Context
		ctx, d.stop = context.WithCancel(d.feeds.host.Leisure.Ctx)
		d.feeds.host.Leisure.Work.Add(1) // within a stream, which is counted itself
		go d.run(ctx)
	}
	return w
}

// known gives the state that an id names, 0 when it is not remembered.
func (d *Feed) known(id string) uint64 {
	epoch, number, _ := strings.Cut(id, "-")
	state, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != d.epoch || state > d.state || d.state-state > uint64(len(d.deltas)) {
		return 0
	}
	return state
}

// leave takes a client out. The last one ends the looking, not at once the
// memory.
func (d *Feed) leave(w *watcher) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.watchers, w)
	if len(d.watchers) > 0 || d.stop == nil {
		return
	}
	d.stop()
	d.stop = nil
	if !d.over {
		d.forgotten.Reset(d.feeds.Linger)
	}
}

// next gives the events that bring the client up to date, and whether they are
// the last. It is called by the client's stream alone.
func (w *watcher) next() (events [][]byte, last bool, err error) {
	d := w.feed
	d.mu.Lock()
	defer d.mu.Unlock()
	greet := w.greet
	w.greet = false
	if d.gone {
		return [][]byte{[]byte("event: gone\ndata: {}\n\n")}, true, nil
	}
	behind := d.state - w.state
	switch {
	case w.state == 0 || behind > uint64(len(d.deltas)):
		if d.snapshot == nil {
			whole, err := d.picture.whole()
			if err != nil {
				return nil, true, err
			}
			d.snapshot = d.event("snapshot", d.state, whole)
		}
		events = [][]byte{d.snapshot}
	case behind > 0:
		events = append(events, d.deltas[uint64(len(d.deltas))-behind:]...)
	case greet: // says that it goes on
		events = [][]byte{d.event("delta", d.state, form.EmptyText)}
	}
	w.state = d.state
	return events, d.over, nil
}
