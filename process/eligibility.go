package process

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/actors"
	"dialler/engine/eligibility"
	"dialler/engine/webhook"
	"dialler/http/egress"
)

// eligibilityQuestions is how many questions are under way at a time; one more
// waits within its own time.
const eligibilityQuestions = 64

// eligibilityHook puts the questions of engine/eligibility to a URL.
type eligibilityHook struct {
	client *nethttp.Client
	url    string
	secret []byte
	closed bool
	now    func() time.Time
	slots  chan struct{}

	mu      sync.Mutex
	breaker eligibility.Breaker

	answers *prometheus.CounterVec
	took    prometheus.Histogram
	alone   prometheus.GaugeFunc
}

// openEligibility gives the tree the hook that the flags name, if they do.
func (p *Process) openEligibility(ports *actors.Ports) error {
	f := &p.flags
	if f.EligibilityURL == "" {
		return nil
	}
	secret, err := webhook.ReadSecret(f.EligibilitySecret)
	if err != nil {
		return fmt.Errorf("--eligibility-secret, or DIALLER_ELIGIBILITY_SECRET, %w", err)
	}
	if err := webhook.CheckURL(f.EligibilityURL, f.EligibilityAllowPrivate); err != nil {
		return errors.New("--eligibility-url must be an absolute https URL without user, password and fragment; http with --eligibility-allow-private")
	}
	p.eligibility = newEligibilityHook(f.EligibilityURL, secret, f.EligibilityFail == "closed", f.EligibilityAllowPrivate, p.clock.Now)
	ports.Eligibility = p.eligibility
	p.closing = append(p.closing, p.eligibility.client.CloseIdleConnections)
	return nil
}

func newEligibilityHook(url string, secret []byte, closed, allowPrivate bool, now func() time.Time) *eligibilityHook {
	h := &eligibilityHook{client: egress.New(egress.Config{Timeout: eligibility.Budget, AllowPrivate: allowPrivate, KeepAlive: true}), url: url, secret: secret,
		closed: closed, now: now, slots: make(chan struct{}, eligibilityQuestions),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dialler_eligibility_answers_total",
			Help: "Questions whether a contact may be called, by the answer; failed: none that could be read within its time; skipped: not asked, since the hook had failed again and again."},
			[]string{"answer"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "dialler_eligibility_seconds", Help: "How long an answer took, or its absence.",
			Buckets: []float64{0.005, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5}}),
	}
	h.alone = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dialler_eligibility_breaker_open",
		Help: "1 while the eligibility hook has failed again and again and is tried by one question now and then."}, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.breaker.Open() {
			return 1
		}
		return 0
	})
	for _, a := range []string{string(eligibility.Allow), string(eligibility.Defer), string(eligibility.Exclude), "failed", "skipped"} {
		h.answers.WithLabelValues(a)
	}
	return h
}

// collectors are nil without a hook.
func (h *eligibilityHook) collectors() []prometheus.Collector {
	if h == nil {
		return nil
	}
	return []prometheus.Collector{h.answers, h.took, h.alone}
}

var errSkipped = errors.New("the hook is left alone for now")

// Eligible implements actors.Eligibility.
func (h *eligibilityHook) Eligible(ctx context.Context, q eligibility.Question) eligibility.Verdict {
	a, err := h.ask(ctx, &q)
	switch {
	case errors.Is(err, errSkipped):
		h.answers.WithLabelValues("skipped").Inc()
	case err != nil:
		h.answers.WithLabelValues("failed").Inc()
	default:
		h.answers.WithLabelValues(string(a.Decision)).Inc()
	}
	return eligibility.Judge(a, err, h.closed, h.now())
}

func (h *eligibilityHook) ask(ctx context.Context, q *eligibility.Question) (a eligibility.Answer, err error) {
	h.mu.Lock()
	admitted := h.breaker.Admit(h.now())
	h.mu.Unlock()
	if !admitted {
		return a, errSkipped
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, eligibility.Budget)
	defer func() {
		cancel()
		h.took.Observe(time.Since(began).Seconds())
		h.mu.Lock()
		defer h.mu.Unlock()
		h.breaker.Note(err == nil, h.now())
	}()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return a, ctx.Err()
	}
	return h.post(ctx, q)
}

func (h *eligibilityHook) post(ctx context.Context, q *eligibility.Question) (a eligibility.Answer, err error) {
	at := h.now()
	body := q.Body(at)
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	id := "elg_" + rand.Text()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "dialler")
	req.Header.Set(webhook.HeaderID, id)
	req.Header.Set(webhook.HeaderTimestamp, webhook.Timestamp(at))
	req.Header.Set(webhook.HeaderSignature, webhook.Sign(id, at, body, h.secret))
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
