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

// look queries the dialler for what a feed shows.
type look func(ctx context.Context) (list []campaign.Detail, total int, err error)

// Feeds are the feeds being watched, one for each subject however many clients watch it, and the
// limits of watching. Nothing is queried while no client watches.
type Feeds struct {
	// Interval is the pause between two queries of a feed, Heartbeat how often a stream checks its
	// client, Patience how long a client may take to read what was sent.
	Interval, Heartbeat, Patience time.Duration
	// Linger is how long a feed without watchers is kept, so that a client that reconnects
	// continues where it was.
	Linger time.Duration
	// After returns a timer's channel and its stop function.
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

// Campaigns are the campaigns that can be watched.
type Campaigns interface {
	// Detail returns NotFound "campaign_not_found" for an unknown campaign.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// List returns one page, newest first, and the total number.
	List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error)
}

// Figures count streams.
type Figures struct {
	Open    prometheus.Gauge
	Dropped prometheus.Counter // because the client did not read
}

const (
	feedInterval = time.Second
	feedLinger   = 30 * time.Second
	// A client takes figures for stale after ten seconds of silence. A stream breaks its own within nine, also while the
	// database is slow: after two heartbeats with the checks of its credentials, or after one and a query.
	streamHeartbeat = 3 * time.Second
	checkTimeout    = time.Second
	StreamPatience  = 10 * time.Second

	// lookTimeout bounds one query; looksFailed is how many may fail in a row before the watchers
	// are disconnected: they reconnect, and are told why it fails.
	lookTimeout = 5 * time.Second
	looksFailed = 10

	// feedMemory is how many states a client may be behind and still continue with deltas.
	feedMemory = 30
)

// New makes feeds of campaigns: at most total streams, and each per user or key.
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

// hold reserves a stream for a user or key.
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

// feed returns the feed of a key, creating it if necessary.
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

// Watched returns the feed of a key while it is kept, nil otherwise.
func (f *Feeds) Watched(key string) *Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[key]
}

// Count returns how many streams are open.
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

// Feed is one changing state, and the clients that follow it. Its states are numbered; for the
// latest it keeps the deltas that led to them.
type Feed struct {
	feeds   *Feeds
	key     string
	ask     look
	epoch   string        // of this feed, so that another's states are not mistaken for its own
	looking chan struct{} // held during a query, so that queries cannot overtake each other

	mu       sync.Mutex
	picture  picture
	state    uint64   // the newest, from 1; 0 means unknown so far
	deltas   [][]byte // events that lead to the newest states
	snapshot []byte   // event with the newest state, nil if it must be rebuilt
	over     bool     // nothing more comes
	gone     bool     // because its subject is gone
	watchers map[*watcher]struct{}
	stop     context.CancelFunc // of the loop, nil while no client watches

	forgotten *time.Timer
}

// watcher is one client of a feed.
type watcher struct {
	feed  *Feed
	wake  chan struct{} // there may be something new
	state uint64        // the client's state, 0 means none
	greet bool          // nothing sent yet
}

// ready makes sure that the feed has a recent state.
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

// look queries once, and tells the watchers what changed.
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
		return nil // no watcher has a state yet
	}
	if len(d.deltas) == feedMemory {
		d.deltas = d.deltas[1:]
	}
	d.deltas = append(d.deltas, d.event("delta", d.state, patch))
	d.tell()
	return nil
}

// event encodes one event for the wire.
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

// end disconnects the watchers; a new one gets a new feed.
func (d *Feed) end(gone bool) {
	d.feeds.drop(d)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over, d.gone = true, d.gone || gone
	d.forgotten.Stop()
	d.tell()
}

// Expire drops a feed that no client returned to.
func (d *Feed) Expire() {
	d.mu.Lock()
	watched := len(d.watchers) > 0
	d.mu.Unlock()
	if !watched {
		d.feeds.drop(d)
	}
}

// run keeps querying while a client watches.
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
		d.feeds.host.Leisure.Work.Add(1) // within a stream, which is itself counted
		go d.run(ctx)
	}
	return w
}

// known returns the state that an id names, 0 if it is no longer kept.
func (d *Feed) known(id string) uint64 {
	epoch, number, _ := strings.Cut(id, "-")
	state, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != d.epoch || state > d.state || d.state-state > uint64(len(d.deltas)) {
		return 0
	}
	return state
}

// leave removes a client. The last one ends the querying, but the state is kept for a while.
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

// next returns the events that bring the client up to date, and whether they are the last. Only the
// client's stream calls it.
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
	case greet: // confirms that it continues
		events = [][]byte{d.event("delta", d.state, form.EmptyText)}
	}
	w.state = d.state
	return events, d.over, nil
}
