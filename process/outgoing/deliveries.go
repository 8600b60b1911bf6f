package outgoing

import (
	"bytes"
	"context"
	"io"
	nethttp "net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine/webhook"
	"dialler/http/egress"
	"dialler/persistence/webhooks"
)

// DeliveryTimeout bounds one try including the response body.
const DeliveryTimeout = 15 * time.Second

// Deliveries sends messages to endpoints.
type Deliveries struct {
	client *nethttp.Client
	now    func() time.Time
}

func NewDeliveries(allowPrivate bool, timeout time.Duration, now func() time.Time) *Deliveries {
	return &Deliveries{
		client: egress.New(egress.Config{Timeout: timeout, AllowPrivate: allowPrivate, KeepAlive: true}),
		now:    now,
	}
}

// Close drops its idle connections.
func (p *Deliveries) Close() { p.client.CloseIdleConnections() }

// Deliver makes one try.
func (p *Deliveries) Deliver(ctx context.Context, m *webhook.Request) (a webhook.Answer) {
	began := time.Now()
	defer func() { a.Took = time.Since(began) }()
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return webhook.Answer{Problem: "url"}
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "dialler")
	h.Set(webhook.HeaderID, m.ID)
	h.Set(webhook.HeaderTimestamp, webhook.Timestamp(m.At))
	h.Set(webhook.HeaderSignature, m.Signature)
	resp, err := p.client.Do(req)
	if err != nil {
		return webhook.Answer{Problem: egress.Problem(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	a = webhook.Answer{Status: resp.StatusCode, RetryAfter: egress.RetryAfter(resp.Header, p.now())}
	excerpt, err := io.ReadAll(io.LimitReader(resp.Body, webhook.ExcerptCap))
	a.Body = string(excerpt)
	if err == nil {
		// Reading a short remainder keeps the connection for the next message.
		_, _ = io.CopyN(io.Discard, resp.Body, webhook.ExcerptCap)
	}
	return a
}

// DeliveryMetrics count the results of messages and those waiting.
type DeliveryMetrics struct {
	Outbox    *webhooks.Outbox
	tries     *prometheus.CounterVec
	took      prometheus.Histogram
	endpoints *prometheus.Desc
	disabled  *prometheus.Desc
	pending   *prometheus.Desc
	oldest    *prometheus.Desc
	lag       *prometheus.Desc
}

func NewDeliveryMetrics() *DeliveryMetrics {
	m := &DeliveryMetrics{
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dialler_webhook_tries_total",
			Help: "Tries to deliver a message to a webhook, by what came of them: delivered, " +
				"pending (tried again later), failed."}, []string{"result"}),
		took: prometheus.NewHistogram(
			prometheus.HistogramOpts{Name: "dialler_webhook_try_seconds", Help: "How long a try took, with its answer.",
				Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 15}},
		),
		endpoints: prometheus.NewDesc("dialler_webhook_endpoints", "Webhooks.", nil, nil),
		disabled: prometheus.NewDesc(
			"dialler_webhook_disabled",
			"Webhooks that the dialler made inactive because their servers answered 410 or took nothing for days.",
			nil,
			nil,
		),
		pending: prometheus.NewDesc(
			"dialler_webhook_pending",
			"Messages that wait for their first or next try, counted up to 100,000.",
			nil,
			nil,
		),
		oldest: prometheus.NewDesc(
			"dialler_webhook_untried_seconds",
			"Age of the oldest message that has not been tried yet.",
			nil,
			nil,
		),
		lag: prometheus.NewDesc(
			"dialler_webhook_lag_seconds",
			"Time since all events for webhooks were last read; 0 without active webhooks.",
			nil,
			nil,
		),
	}
	for _, s := range webhook.DeliveryStates {
		m.tries.WithLabelValues(string(s))
	}
	return m
}

// Collectors returns its metrics.
func (m *DeliveryMetrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m, m.tries, m.took}
}

// Tried records a try.
func (m *DeliveryMetrics) Tried(v webhook.Verdict, took time.Duration) {
	m.tries.WithLabelValues(string(v.State)).Inc()
	m.took.Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (m *DeliveryMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.endpoints, m.disabled, m.pending, m.oldest, m.lag} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *DeliveryMetrics) Collect(ch chan<- prometheus.Metric) {
	s := m.Outbox.Standing()
	for d, v := range map[*prometheus.Desc]float64{m.endpoints: float64(s.Endpoints), m.disabled: float64(s.Disabled),
		m.pending: float64(s.Pending),
		m.oldest:  s.Oldest.Seconds(), m.lag: s.Lag.Seconds()} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
}
