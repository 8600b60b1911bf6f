package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// RepeatsConfig says how often triggers are repeated. Zero values mean the
// default in parentheses.
type RepeatsConfig struct {
	Binary      string // required
	Keys        int    // Idempotency-Keys, each with its own contact (5,000)
	Repeats     int    // total requests besides the first of each key (100,000)
	Connections int    // (64)
	Kills       int    // how often the engine is killed and restarted meanwhile (1)
	Keep        bool   // keep data and logs
	Log         func(format string, args ...any)
}

// RepeatsFigures is the result.
type RepeatsFigures struct {
	Keys     int `json:"keys"`
	Requests int `json:"requests"` // answered for good
	// Tries counts all requests sent: one that was not answered, or with "not now", is sent again.
	Tries    int            `json:"tries"`
	Fresh    int            `json:"fresh"`    // answered 200, not as a repeat
	Replayed int            `json:"replayed"` // answered 200 as a repeat
	NotNow   map[string]int `json:"not_now"`  // by status, or "no answer"
	Lives    int            `json:"lives"`    // of the engine
	Contacts int            `json:"contacts"` // stored
	Events   int            `json:"events"`   // contact.triggered
	Seconds  float64        `json:"seconds"`
	Failures []string       `json:"failures,omitempty"`
}

// Repeats repeatedly triggers contacts under Idempotency-Keys over many connections, kills the
// engine meanwhile, and counts the effect of each key.
func Repeats(ctx context.Context, cfg RepeatsConfig) (*RepeatsFigures, error) {
	or := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	or(&cfg.Keys, 5000)
	or(&cfg.Repeats, 100_000)
	or(&cfg.Connections, 64)
	or(&cfg.Kills, 1)
	switch {
	case cfg.Keys < 1 || cfg.Keys > 1_000_000 || cfg.Repeats < 0 || cfg.Repeats > 10_000_000:
		return nil, errors.New("load: there may be 1 to 1000000 keys and 10000000 repeats")
	case cfg.Connections < 1 || cfg.Connections > 200:
		return nil, errors.New("load: --connections must be 1 to 200")
	case cfg.Kills < 0 || cfg.Kills > 20:
		return nil, errors.New("load: the engine may be killed 0 to 20 times")
	}
	world, err := Config{Binary: cfg.Binary, Rate: triggerRate, Seats: triggerSeats, Keep: cfg.Keep,
		Log: cfg.Log}.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, world)
	if err != nil {
		return nil, err
	}
	defer w.close()
	id, key, err := w.stormCampaign(ctx)
	if err != nil {
		return nil, err
	}
	r := &repeating{storm: newStorm(w.addr, key, id), answers: make([]string, cfg.Keys), notNow: map[string]int{}}
	r.queue = make([]int32, 0, cfg.Keys+cfg.Repeats)
	for i := range cfg.Keys + cfg.Repeats {
		r.queue = append(r.queue, int32(i%cfg.Keys)) //nolint:gosec // bounded above
	}
	swap := func(i, j int) { r.queue[i], r.queue[j] = r.queue[j], r.queue[i] }
	rand.Shuffle(len(r.queue), swap) //nolint:gosec // no secret
	begun := time.Now()
	lives, err := r.run(ctx, w, &cfg)
	if err != nil {
		return nil, err
	}
	f := &RepeatsFigures{Keys: cfg.Keys, Requests: len(r.queue), Tries: int(r.tries.Load()), Fresh: int(r.fresh.Load()),
		Replayed: int(r.replayed.Load()),
		NotNow:   r.notNow, Lives: lives, Seconds: time.Since(begun).Seconds(), Failures: r.wrong}
	return f, f.judge(ctx, w, id)
}

// repeating sends one request for each entry of the queue until it gets a final answer.
type repeating struct {
	*storm
	queue                        []int32 // indexes of keys
	next                         atomic.Int64
	tries, fresh, replayed, done atomic.Int64

	mu      sync.Mutex
	answers []string // to each key
	notNow  map[string]int
	wrong   []string
}

// repeatLimit bounds how long one request is retried.
const repeatLimit = 2 * time.Minute

func (r *repeating) run(ctx context.Context, w *world, cfg *RepeatsConfig) (lives int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for range cfg.Connections {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(r.next.Add(1)) - 1
				if i >= len(r.queue) {
					return
				}
				r.one(ctx, int(r.queue[i]))
				r.done.Add(1)
			}
		})
	}
	lives = 1
	for kill := range cfg.Kills { // once that share is answered
		at := int64(len(r.queue) * (kill + 1) / (cfg.Kills + 1))
		if err = poll(ctx, 2*time.Millisecond, func() (bool, error) {
			return r.done.Load() >= at, w.engine.ended()
		}); err != nil {
			break
		}
		w.engine.kill()
		lives++
		w.cfg.Log("killed after %d answers", r.done.Load())
		if err = w.startEngine(ctx, "engine"+strconv.Itoa(lives)); err != nil {
			break
		}
	}
	if err != nil {
		cancel()
	}
	all.Wait()
	return lives, errors.Join(err, ctx.Err())
}

// one sends a request until it gets a final answer.
func (r *repeating) one(ctx context.Context, key int) {
	end := time.Now().Add(repeatLimit)
	for ctx.Err() == nil {
		status, replayed, body := r.try(key)
		switch {
		case status == fasthttp.StatusOK:
			if replayed {
				r.replayed.Add(1)
			} else {
				r.fresh.Add(1)
			}
			r.heard(key, body)
			return
		case status == 0 || status == fasthttp.StatusConflict || status == fasthttp.StatusServiceUnavailable:
			if !time.Now().After(end) {
				time.Sleep(time.Duration(1+rand.IntN(20)) * time.Millisecond) //nolint:gosec // so that not all come back at once
				continue
			}
			fallthrough
		default:
			r.mu.Lock()
			r.note(fmt.Sprintf("key %d: %d %s", key, status, body))
			r.mu.Unlock()
			return
		}
	}
}

// heard compares the answer with earlier ones.
func (r *repeating) heard(key int, body string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch was := r.answers[key]; was {
	case "":
		r.answers[key] = body
	case body:
	default:
		r.note(fmt.Sprintf("key %d was answered %s and %s", key, was, body))
	}
}

// note records the first failures; the caller holds the lock.
func (r *repeating) note(what string) {
	if len(r.wrong) < 20 {
		r.wrong = append(r.wrong, what)
	}
}

func (r *repeating) try(key int) (status int, replayed bool, body string) {
	r.tries.Add(1)
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	err := r.prepare(req, key)
	if err == nil {
		err = r.http.Do(req, resp)
	}
	if err != nil {
		r.mu.Lock()
		r.notNow["no answer"]++
		r.mu.Unlock()
		return 0, false, err.Error()
	}
	status = resp.StatusCode()
	if status != fasthttp.StatusOK {
		r.mu.Lock()
		r.notNow[strconv.Itoa(status)]++
		r.mu.Unlock()
	}
	return status, len(resp.Header.Peek("Idempotent-Replayed")) > 0, string(resp.Body())
}

// judge counts the rows in the database.
func (f *RepeatsFigures) judge(ctx context.Context, w *world, id string) error {
	if err := w.settle(ctx); err != nil {
		return err
	}
	if err := w.db.QueryRow(ctx, "SELECT (SELECT count(*) FROM contacts WHERE campaign_id = $1), (SELECT count(*) FROM "+
		"events WHERE campaign_id = $1 AND type = 'contact.triggered')",
		id).Scan(&f.Contacts, &f.Events); err != nil {
		return err
	}
	if f.Contacts != f.Keys {
		f.Failures = append(f.Failures, fmt.Sprintf("%d contacts are stored for %d keys", f.Contacts, f.Keys))
	}
	if f.Events != f.Keys { // a trigger carried out twice would have been merged into its contact
		f.Failures = append(f.Failures, fmt.Sprintf("%d triggers were carried out for %d keys", f.Events, f.Keys))
	}
	if f.Fresh > f.Keys {
		f.Failures = append(f.Failures, fmt.Sprintf("%d answers claim to be the first for %d keys", f.Fresh, f.Keys))
	}
	return nil
}

// Print writes the figures for people.
func (f *RepeatsFigures) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%d requests under %d keys in %.1f s and %d lives of the engine, sent %d times: %d first "+
		"answers, %d repeats\n",
		f.Requests, f.Keys, f.Seconds, f.Lives, f.Tries, f.Fresh, f.Replayed)
	var what []string
	for k := range f.NotNow {
		what = append(what, k)
	}
	slices.Sort(what)
	for _, k := range what {
		_, _ = fmt.Fprintf(out, "sent again after %s: %d\n", k, f.NotNow[k])
	}
	_, _ = fmt.Fprintf(out, "%d contacts are stored, %d triggers were carried out\n", f.Contacts, f.Events)
}
