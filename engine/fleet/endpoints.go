package fleet

import (
	"slices"
	"time"
)

// EndpointHealth is what is known of one address of a bot.
type EndpointHealth string

const (
	Unknown  EndpointHealth = "unknown"  // not tried yet
	Up       EndpointHealth = "up"       // the last call or question was taken
	Doubtful EndpointHealth = "doubtful" // a call was not taken; the endpoint is being asked
	Down     EndpointHealth = "down"     // it does not answer, or takes no call
	Trying   EndpointHealth = "trying"   // it answers; whether it takes calls again, one call has to show
)

const (
	// An endpoint that does not answer is asked again after so long, doubling.
	askFirst = time.Second
	askLast  = 30 * time.Second
	// One that answers and takes no call three times over is left alone for so
	// long, doubling.
	distrustRounds = 3
	distrustFirst  = 10 * time.Second
	distrustLast   = 5 * time.Minute
	// freshFor is how long an answer stands for those who begin to dial.
	freshFor = time.Minute
)

// Endpoints are the addresses of one bot and how they stand. They are used by
// one actor and are not safe for concurrent use.
//
// Two things tell of them: calls, which are the truth, and questions (does
// the address take a connection?), which cost nobody a phone call. A call that
// was not taken makes a question; the answer to it says whether the endpoint
// is down. While all are down the bot has no seats, so that nobody is called
// whom no bot could serve.
type Endpoints struct{ list []endpoint }

type endpoint struct {
	url    string
	health EndpointHealth
	since  time.Time // of the health
	reason string    // why it took the last call or question not, "" when it did
	seen   time.Time // when it last took a call or a question
	asked  bool      // a question is under way
	next   time.Time // of the next question, zero when none is planned
	pause  time.Duration
	rounds int // answered questions since it last took a call, each after a call that it had not taken
	// distrusted: it is down because of what it did to calls, though it answers.
	distrusted bool
}

// NewEndpoints of which nothing is known.
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

// Reached: the endpoint took a call.
func (e *Endpoints) Reached(now time.Time, url string) {
	p := e.find(url)
	if p == nil {
		return
	}
	p.become(Up, now)
	p.seen, p.reason, p.next, p.pause, p.rounds, p.distrusted = now, "", time.Time{}, 0, 0, false
}

// Missed: the endpoint did not take a call; "" stands for all of them, when it
// is not known which were tried.
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

// Answered: the endpoint took a question, reason "", or did not.
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

// Late: the endpoint has not answered a question for as long as a call could wait for it. It
// is down until it does: sockets that are opened ahead of their calls may take longer.
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

// Ask plans a question to every endpoint that is not down: somebody begins to
// dial, and what is known of them is old.
func (e *Endpoints) Ask(now time.Time) {
	for i := range e.list {
		if p := &e.list[i]; p.health != Down && p.next.IsZero() {
			p.next = now
		}
	}
}

// Due takes the endpoints that are to be asked now; each is owed an Answered, before which
// one may be Late.
func (e *Endpoints) Due(now time.Time) (urls []string) {
	for i := range e.list {
		if p := &e.list[i]; !p.asked && !p.next.IsZero() && !p.next.After(now) {
			p.asked, p.next = true, time.Time{}
			urls = append(urls, p.url)
		}
	}
	return urls
}

// Next is when the next question is due, zero when none is planned.
func (e *Endpoints) Next() (at time.Time) {
	for i := range e.list {
		if p := &e.list[i]; !p.asked && !p.next.IsZero() && (at.IsZero() || p.next.Before(at)) {
			at = p.next
		}
	}
	return at
}

// Fresh says whether it is known now that the bot takes calls, or that it does
// not.
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

// Order is in which the endpoints are tried: as configured, those in doubt
// last, those that are down not at all while there is another.
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

// Health is that of the bot: its best endpoint's.
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

// EndpointStatus is how an endpoint stands.
type EndpointStatus struct {
	Endpoint string
	Health   EndpointHealth
	Since    time.Time // zero: since it was configured
	Reason   string    // why the last call or question was not taken
	// AskedAgainAt is when it is asked the next time, nil when nothing is planned.
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

// Outage says since when the bot takes no call, and why; ok is false while it
// may take some.
func (e *Endpoints) Outage() (since time.Time, reason string, ok bool) {
	if len(e.list) == 0 || e.Health() != Down {
		return since, "", false
	}
	for i := range e.list { // the last one that went down, the first one's reason
		if p := &e.list[i]; p.since.After(since) {
			since = p.since
		}
	}
	return since, e.list[0].reason, true
}
