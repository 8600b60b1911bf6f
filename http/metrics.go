package http

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"dialler/http/wire"
)

// metrics are the API's own metrics. Their label sets are closed: templates of routes (never
// paths), known methods and statuses.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	replayed prometheus.Counter
	limited  prometheus.Counter
	streams  prometheus.Gauge
	dropped  prometheus.Counter
	cut      prometheus.Counter

	evicted, refused, unaccepted prometheus.Counter // connections
	overloaded                   *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, conns *connections) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dialler_http_requests_total",
			Help: "Requests answered, by route template, method and status.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "dialler_http_request_duration_seconds",
			Help:    "Time from when the request is fully read until the answer is ready.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dialler_http_requests_in_flight",
			Help: "Requests being handled now.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dialler_http_panics_total",
			Help: "Handlers that panicked and were answered 500.",
		}),
		replayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dialler_http_idempotent_replays_total",
			Help: "Requests answered with the stored reply of an earlier one.",
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dialler_http_streams",
			Help: "Live streams open now.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dialler_http_streams_dropped_total",
			Help: "Live streams ended because the client did not read.",
		}),
		limited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dialler_http_rate_limited_total",
			Help: "Requests refused by the rate limit of a key or of log-ins.",
		}),
	}
	m.cut = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dialler_http_reports_broken_off_total",
		Help: "Reports whose connection was closed before their last row.",
	})
	m.evicted = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dialler_http_connections_evicted_total",
		Help: "Connections closed to make room for others: idle, or too slow to send their request.",
	})
	m.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dialler_http_connections_refused_total",
		Help: "Connections answered 503 because too many were open.",
	})
	m.unaccepted = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dialler_http_accept_errors_total",
		Help: "Times a connection could not be accepted, for lack of descriptors for example.",
	})
	m.overloaded = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dialler_http_overloaded_total",
		Help: "Requests refused with 503 overloaded because too many were under way: those that add calls, other commands, " +
			"reads, log-ins by an identity provider, long bodies.",
	}, []string{"intake"})
	for _, name := range []string{intakeCalls.String(), intakeWords.String(), intakeCommands.String(),
		intakeLooks.String(), intakeLogIns.String(), bodiesLabel} {
		m.overloaded.WithLabelValues(name)
	}
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dialler_http_connections",
		Help: "Connections open now, including live streams.",
	}, func() float64 { return float64(conns.count()) })
	for _, c := range []prometheus.Collector{m.requests, m.duration, m.inFlight, m.panics, m.replayed, m.limited,
		m.streams, m.dropped, m.cut,
		m.evicted, m.refused, m.unaccepted, m.overloaded, open} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// routeMetrics are one route's metrics, found without hashing labels. A route that nobody has asked
// for has none: its empty buckets would be most of the exposition.
type routeMetrics struct {
	duration atomic.Pointer[prometheus.Observer]
	byStatus [600]atomic.Pointer[prometheus.Counter]
}

func (m *metrics) answered(rt *route, status int, took time.Duration) {
	d := rt.metrics.duration.Load()
	if d == nil {
		o := m.duration.WithLabelValues(rt.path, rt.method)
		d = &o
		rt.metrics.duration.Store(d)
	}
	(*d).Observe(took.Seconds())
	if status < 0 || status >= len(rt.metrics.byStatus) {
		return
	}
	slot := &rt.metrics.byStatus[status]
	c := slot.Load()
	if c == nil {
		counter := m.requests.WithLabelValues(rt.path, rt.method, strconv.Itoa(status))
		c = &counter
		slot.Store(c)
	}
	(*c).Inc()
}

// exposition serves the registry in the Prometheus text format.
func exposition(reg *prometheus.Registry) wire.Handler {
	h := fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	return func(r *wire.Request) error {
		h(r.HTTP)
		return nil
	}
}
