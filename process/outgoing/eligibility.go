package outgoing

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine/eligibility"
	"dialler/engine/webhook"
	"dialler/http/egress"
)

const (
	// eligibilityQuestions is how many concurrent questions one system gets; a further one waits
	// within its own time-out.
	eligibilityQuestions = 64
	// eligibilityHooks bounds the systems whose failures are remembered.
	eligibilityHooks = 256
)

// Eligibility sends the questions of engine/eligibility to the installation's URL and to those of
// campaigns.
type Eligibility struct {
	client *nethttp.Client
	url    string // of the installation, "" = none
	secret []byte // nil means questions are not signed
	closed bool   // the verdict without an answer, unless the campaign sets it
	plain  bool   // http is allowed
	now    func() time.Time
	budget time.Duration // of an answer

	mu    sync.Mutex
	asked map[string]*askedHook // by URL

	answers *prometheus.CounterVec
	took    prometheus.Histogram
	alone   prometheus.GaugeFunc
}

// askedHook is one system that is asked.
type askedHook struct {
	breaker eligibility.Breaker // guarded by Eligibility.mu
	slots   chan struct{}
}

func NewEligibility(
	url string,
	secret []byte,
	closed, allowPrivate bool,
	now func() time.Time,
	budget time.Duration,
) *Eligibility {
	h := &Eligibility{
		client: egress.New(egress.Config{Timeout: budget, AllowPrivate: allowPrivate, KeepAlive: true}),
		url:    url,
		secret: secret,
		closed: closed,
		plain:  allowPrivate,
		now:    now,
		budget: budget,
		asked:  map[string]*askedHook{},
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dialler_eligibility_answers_total",
			Help: "Questions whether a contact may be called, by the answer; failed: no readable answer in time; skipped: " +
				"not asked because the hook kept failing."},
			[]string{"answer"}),
		took: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "dialler_eligibility_seconds", Help: "How long an answer, or the wait for one, took.",
				Buckets: []float64{0.005, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5}},
		),
	}
	h.alone = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dialler_eligibility_breaker_open",
		Help: "Eligibility hooks, of the installation and of campaigns, that keep failing and are tried with one question " +
			"now and then."}, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		open := 0
		for _, at := range h.asked {
			if at.breaker.Open() {
				open++
			}
		}
		return float64(open)
	})
	for _, a := range []string{string(eligibility.Allow), string(eligibility.Defer), string(eligibility.Exclude),
		"failed", "skipped"} {
		h.answers.WithLabelValues(a)
	}
	return h
}

// Close drops its idle connections.
func (h *Eligibility) Close() { h.client.CloseIdleConnections() }

// Collectors returns its metrics.
func (h *Eligibility) Collectors() []prometheus.Collector {
	return []prometheus.Collector{h.answers, h.took, h.alone}
}

var errSkipped = errors.New("the hook is skipped for now")

// Asks implements call.Eligibility.
func (h *Eligibility) Asks(own eligibility.Hook) bool { return h.url != "" || own.URL != "" }

// Eligible implements call.Eligibility: the installation's system and the campaign's are asked
// concurrently, and the stricter answer applies.
func (h *Eligibility) Eligible(ctx context.Context, q eligibility.Question) eligibility.Verdict {
	closed := h.closed
	if q.Own.Fail != "" {
		closed = q.Own.Fail == eligibility.Closed
	}
	switch {
	case q.Own.URL == "":
		return h.verdict(ctx, h.url, h.closed, &q)
	case h.url == "":
		return h.verdict(ctx, q.Own.URL, closed, &q)
	case h.url == q.Own.URL:
		return h.verdict(ctx, h.url, h.closed || closed, &q)
	}
	installation := make(chan eligibility.Verdict, 1)
	go func() { installation <- h.verdict(ctx, h.url, h.closed, &q) }()
	own := h.verdict(ctx, q.Own.URL, closed, &q)
	return eligibility.Stricter(<-installation, own)
}

// verdict returns the verdict from one system's answer.
func (h *Eligibility) verdict(
	ctx context.Context,
	url string,
	closed bool,
	q *eligibility.Question,
) eligibility.Verdict {
	a, err := h.ask(ctx, url, q)
	switch {
	case errors.Is(err, errSkipped):
		h.answers.WithLabelValues("skipped").Inc()
	case err != nil:
		h.answers.WithLabelValues("failed").Inc()
	default:
		h.answers.WithLabelValues(string(a.Decision)).Inc()
	}
	return eligibility.Judge(a, err, closed, h.now())
}

// at returns what is known of a system; mu is held.
func (h *Eligibility) at(url string) *askedHook {
	at := h.asked[url]
	if at == nil {
		for other := range h.asked {
			if len(h.asked) < eligibilityHooks {
				break
			}
			if other != h.url {
				delete(h.asked, other) // its failures are counted from zero
			}
		}
		at = &askedHook{slots: make(chan struct{}, eligibilityQuestions)}
		h.asked[url] = at
	}
	return at
}

func (h *Eligibility) ask(ctx context.Context, url string, q *eligibility.Question) (a eligibility.Answer, err error) {
	if err := webhook.CheckURL(url, h.plain); err != nil {
		return a, err
	}
	h.mu.Lock()
	at := h.at(url)
	admitted := at.breaker.Admit(h.now())
	h.mu.Unlock()
	if !admitted {
		return a, errSkipped
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, h.budget)
	defer func() {
		cancel()
		h.took.Observe(time.Since(began).Seconds())
		h.mu.Lock()
		defer h.mu.Unlock()
		at.breaker.Note(err == nil, h.now())
	}()
	select {
	case at.slots <- struct{}{}:
		defer func() { <-at.slots }()
	case <-ctx.Done():
		return a, ctx.Err()
	}
	return h.post(ctx, url, q)
}

func (h *Eligibility) post(ctx context.Context, url string, q *eligibility.Question) (a eligibility.Answer, err error) {
	at := h.now()
	body := q.Body(at)
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	id := "elg_" + rand.Text()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "dialler")
	req.Header.Set(webhook.HeaderID, id)
	req.Header.Set(webhook.HeaderTimestamp, webhook.Timestamp(at))
	if h.secret != nil {
		req.Header.Set(webhook.HeaderSignature, webhook.Sign(id, at, body, h.secret))
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, eligibility.AnswerCap+1))
	switch {
	case err != nil:
		return a, err
	case resp.StatusCode != nethttp.StatusOK:
		return a, eligibility.ErrAnswer
	}
	return eligibility.Read(answer)
}
