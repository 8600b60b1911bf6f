package load

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// storm sends triggers, each for another contact under a key of its own, over kept-alive
// connections.
type storm struct {
	key, campaign string
	sent          atomic.Int64 // by all runs: contacts are never reused
	http          *fasthttp.HostClient
	life          string // in every Idempotency-Key
}

// stormTimeout is how long a request may take.
const stormTimeout = 30 * time.Second

func newStorm(addr, key, campaign string) *storm {
	return &storm{key: key, campaign: campaign, life: strconv.FormatInt(time.Now().UnixNano(), 36),
		http: &fasthttp.HostClient{Addr: addr, MaxConns: 2000, ReadTimeout: stormTimeout, WriteTimeout: stormTimeout,
			MaxIdemponentCallAttempts: 1}}
}

// up says whether the address accepts connections.
func (s *storm) up() bool {
	c, err := net.DialTimeout("tcp", s.http.Addr, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// wave is what one connection has sent.
type wave struct {
	sent, accepted, dialled int
	refused                 map[string]int
	took                    []float64
}

// run sends over that many connections for the given time: at rate requests per second in all or,
// if that is 0, the next as soon as one is answered. Latency is measured from when a request was
// due.
func (s *storm) run(ctx context.Context, conns int, rate float64, d time.Duration) TriggersRow {
	var tickets atomic.Int64
	begun := time.Now()
	end := begun.Add(d)
	waves := make([]wave, conns)
	var all sync.WaitGroup
	for i := range waves {
		all.Go(func() {
			w := &waves[i]
			w.refused = map[string]int{}
			for ctx.Err() == nil {
				due := time.Now()
				if rate > 0 {
					due = begun.Add(time.Duration(float64(tickets.Add(1)-1) / rate * float64(time.Second)))
				}
				if due.After(end) {
					return
				}
				time.Sleep(time.Until(due))
				s.send(w, due)
			}
		})
	}
	all.Wait()
	r := TriggersRow{Connections: conns, Offered: rate, Refused: map[string]int{}}
	var took []float64
	for i := range waves {
		w := &waves[i]
		r.Sent, r.Accepted, r.Dialled = r.Sent+w.sent, r.Accepted+w.accepted, r.Dialled+w.dialled
		took = append(took, w.took...)
		for k, n := range w.refused {
			r.Refused[k] += n
		}
	}
	r.Rate, r.Latency = float64(r.Accepted)/time.Since(begun).Seconds(), spread(took)
	return r
}

var dialledStatus = []byte(`"status":"dialled"`)

func (s *storm) send(w *wave, due time.Time) {
	n := int(s.sent.Add(1))
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	err := s.prepare(req, n)
	if err != nil {
		w.refused[err.Error()]++
		return
	}
	w.sent++
	err = s.http.Do(req, resp)
	w.took = append(w.took, float64(time.Since(due))/float64(time.Millisecond))
	switch {
	case err != nil:
		w.refused[err.Error()]++
	case resp.StatusCode() != fasthttp.StatusOK:
		w.refused[strconv.Itoa(resp.StatusCode())]++
	default:
		w.accepted++
		if bytes.Contains(resp.Body(), dialledStatus) {
			w.dialled++
		}
	}
}

// prepare builds the trigger for a contact, under its key.
func (s *storm) prepare(req *fasthttp.Request, n int) error {
	body, err := stormBody(s.campaign, contactNumber(n), n)
	if err != nil {
		return err
	}
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI("/api/v1/campaigns/trigger")
	req.Header.SetHost(s.http.Addr)
	req.Header.SetContentType("application/json")
	req.Header.Set("X-API-Key", s.key)
	req.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%d", s.life, n))
	req.SetBodyRaw(body)
	return nil
}
