package fleet

import (
	"slices"
	"time"
)

// EndpointHealth is the health of one address of a bot.
type EndpointHealth string

const (
	Unknown  EndpointHealth = "unknown"  // not tried yet
	Up       EndpointHealth = "up"       // the last call or probe was taken
	Doubtful EndpointHealth = "doubtful" // a call was not taken; the endpoint is being probed
	Down     EndpointHealth = "down"     // it does not answer, or takes no call
	Trying   EndpointHealth = "trying"   // it answers probes; one call must show whether it takes calls again
)

const (
	// askFirst is the delay before an endpoint that does not answer is probed again; it doubles up
	// to askLast.
	askFirst = time.Second
	askLast  = 30 * time.Second
	// distrustRounds is how often an endpoint may answer a probe but take no call before it is left
	// alone, for distrustFirst, doubling up to distrustLast.
	distrustRounds = 3
	distrustFirst  = 10 * time.Second
	distrustLast   = 5 * time.Minute
	// freshFor is how long a probe's answer is relied on when dialling begins.
	freshFor = time.Minute
)

// Endpoints are the addresses of one bot and their health. They are used by one actor and are not
// safe for concurrent use.
//
// There are two sources: calls, which are authoritative, and probes (does the address take a
// connection?), which cost nobody a phone call. A call that was not taken causes a probe; its
// answer decides whether the endpoint is down. While all are down the bot has no seats, so that
// nobody is called whom no bot could serve.
type Endpoints struct{ list []endpoint }

type endpoint struct {
	url    string
	health EndpointHealth
	since  time.Time // of the health
	reason string    // why it did not take the last call or probe, otherwise ""
	seen   time.Time // when it last took a call or a probe
	taken  time.Time // when it last took a call
	asked  bool      // a probe is in progress
	next   time.Time // of the next probe, zero if none is planned
	pause  time.Duration
	rounds int // answered probes since it last took a call, each after a call that it missed
	// distrusted says that it is down because of missed calls, although it answers.
	distrusted bool
}

// NewEndpoints returns endpoints of unknown health.
func NewEndpoints(urls []string) *Endpoints {
	e := &Endpoints{list: make([]endpoint, len(urls))}
	for i, u := range urls {
		e.list[i] = endpoint{url: u, health: Unknown}
	}
	return e
}

func (e *Endpoints) find(url string) *endpoint {
	for i := range e.list {
		if e.list[i].url == url {
			return &e.list[i]
		}
	}
	return nil
}

func (p *endpoint) become(h EndpointHealth, now time.Time) {
	if p.health != h {
		p.health, p.since = h, now
	}
}

// Reached notes that the endpoint took a call.
func (e *Endpoints) Reached(now time.Time, url string) {
	p := e.find(url)
	if p == nil {
		return
	}
	p.become(Up, now)
	p.seen, p.taken, p.reason, p.next, p.pause, p.rounds, p.distrusted = now, now, "", time.Time{}, 0, 0, false
}

// Missed notes that the endpoint did not take a call; "" stands for all of them, when it is not
// known which were tried.
func (e *Endpoints) Missed(now time.Time, url, reason string) {
	for i := range e.list {
		p := &e.list[i]
		if url != "" && p.url != url {
			continue
		}
		switch {
		case p.health == Trying, (p.health == Up || p.health == Unknown) && p.rounds >= distrustRounds:
			p.distrust(now, reason)
		case p.health == Up, p.health == Unknown:
			p.become(Doubtful, now)
			p.reason, p.next = reason, now
		}
	}
}

func (p *endpoint) distrust(now time.Time, reason string) {
	p.pause = min(max(2*p.pause, distrustFirst), distrustLast)
	p.become(Down, now)
	p.reason, p.next, p.distrusted = reason, now.Add(p.pause), true
}

// Answered notes the result of a probe: reason is "" if the endpoint took it.
func (e *Endpoints) Answered(now time.Time, url, reason string) {
	p := e.find(url)
	if p == nil {
		return
	}
	p.asked = false
	if reason != "" {
		if p.health != Down || p.distrusted {
			p.pause = 0
		}
		p.pause = min(max(2*p.pause, askFirst), askLast)
		p.become(Down, now)
		p.reason, p.next, p.distrusted, p.rounds = reason, now.Add(p.pause), false, 0
		return
	}
	p.seen, p.next = now, time.Time{}
	switch {
	case p.health == Trying:
	case p.distrusted:
		p.become(Trying, now)
	case p.health == Doubtful:
		p.rounds++
		p.become(Up, now)
	default:
		p.pause, p.reason = 0, ""
		p.become(Up, now)
	}
}

// Late notes that the endpoint has not answered a probe for as long as a call could wait. It is
// down until it does: sockets opened ahead of their calls may take longer.
func (e *Endpoints) Late(now time.Time, url string) {
	p := e.find(url)
	if p == nil || !p.asked || p.health == Down {
		return
	}
	if p.health == Doubtful {
		p.rounds++
	}
	p.become(Down, now)
	p.reason, p.pause = "the bot did not answer in time", 0
}

// Ask plans a probe of every endpoint that is not down: dialling begins, and its known health is
// old.
func (e *Endpoints) Ask(now time.Time) {
	for i := range e.list {
		if p := &e.list[i]; p.health != Down && p.next.IsZero() {
			p.next = now
		}
	}
}

// Due takes the endpoints to probe now; each must get an Answered, and may get a Late before it.
func (e *Endpoints) Due(now time.Time) (urls []string) {
	for i := range e.list {
		if p := &e.list[i]; !p.asked && !p.next.IsZero() && !p.next.After(now) {
			p.asked, p.next = true, time.Time{}
			urls = append(urls, p.url)
		}
	}
	return urls
}

// Next is when the next probe is due, zero if none is planned.
func (e *Endpoints) Next() (at time.Time) {
	for i := range e.list {
		if p := &e.list[i]; !p.asked && !p.next.IsZero() && (at.IsZero() || p.next.Before(at)) {
			at = p.next
		}
	}
	return at
}

// HeardUntil is how long it is relied on that the bot takes calls because it took one; zero if it
// took none.
func (e *Endpoints) HeardUntil() (at time.Time) {
	for i := range e.list {
		if p := &e.list[i]; p.taken.After(at) {
			at = p.taken
		}
	}
	if at.IsZero() {
		return at
	}
	return at.Add(freshFor)
}

// Fresh says whether it is currently known that the bot takes calls, or that it does not.
func (e *Endpoints) Fresh(now time.Time) bool {
	down := 0
	for i := range e.list {
		switch p := &e.list[i]; {
		case p.health == Down:
			down++
		case !p.seen.IsZero() && now.Sub(p.seen) < freshFor:
			return true
		}
	}
	return down == len(e.list)
}

// Order is the order in which the endpoints are tried: as configured, doubtful ones last, and those
// that are down only when there is no other.
func (e *Endpoints) Order() []string {
	urls := make([]string, 0, len(e.list))
	for _, want := range [][]EndpointHealth{{Up, Unknown}, {Doubtful, Trying}} {
		for i := range e.list {
			if slices.Contains(want, e.list[i].health) {
				urls = append(urls, e.list[i].url)
			}
		}
	}
	if len(urls) == 0 {
		for i := range e.list {
			urls = append(urls, e.list[i].url)
		}
	}
	return urls
}

// Health is the health of the bot: that of its best endpoint.
func (e *Endpoints) Health() EndpointHealth {
	for _, h := range []EndpointHealth{Up, Doubtful, Unknown, Trying} {
		if slices.ContainsFunc(e.list, func(p endpoint) bool { return p.health == h }) {
			return h
		}
	}
	return Down
}

// Seats is how many of a bot's seats may be used: none while it is down, one
// while a call has to show that it is not.
func (e *Endpoints) Seats(configured int) int {
	switch e.Health() {
	case Down:
		return 0
	case Trying:
		return min(configured, 1)
	case Up, Doubtful, Unknown:
	}
	return configured
}

// EndpointStatus is the status of an endpoint.
type EndpointStatus struct {
	Endpoint string
	Health   EndpointHealth
	Since    time.Time // zero means since it was configured
	Reason   string    // why the last call or probe was not taken
	// AskedAgainAt is when it is probed next, nil if nothing is planned.
	AskedAgainAt *time.Time
}

// Status lists the endpoints as configured.
func (e *Endpoints) Status() []EndpointStatus {
	list := make([]EndpointStatus, len(e.list))
	for i := range e.list {
		p := &e.list[i]
		list[i] = EndpointStatus{Endpoint: p.url, Health: p.health, Since: p.since, Reason: p.reason}
		if p.health == Up {
			list[i].Reason = ""
		}
		if !p.next.IsZero() {
			at := p.next
			list[i].AskedAgainAt = &at
		}
	}
	return list
}

// Outage says since when the bot takes no calls, and why; ok is false while it may take some.
func (e *Endpoints) Outage() (since time.Time, reason string, ok bool) {
	if len(e.list) == 0 || e.Health() != Down {
		return since, "", false
	}
	for i := range e.list { // since the last one went down, with the first one's reason
		if p := &e.list[i]; p.since.After(since) {
			since = p.since
		}
	}
	return since, e.list[0].reason, true
}
