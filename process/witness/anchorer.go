package witness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"dialler/engine/anchor"
)

// Port is what the anchorer needs of the rest.
type Port struct {
	// Latest returns the newest seal; false while there is none, or another node shows it.
	Latest func(context.Context) (anchor.Seal, bool, error)
	// Keep stores a receipt.
	Keep func(context.Context, anchor.Receipt) error
}

// Witness shows a seal to somebody.
type Witness interface {
	Kind() anchor.Kind
	// URL names the witness, without credentials.
	URL() string
	// Show returns the receipt's data.
	Show(context.Context, anchor.Seal) ([]byte, error)
}

const (
	// Every is how often seals are shown without an occasion.
	Every = time.Hour
	// tryTimeout bounds one try.
	tryTimeout = time.Minute
	// Pauses after failures, each twice the one before.
	firstPause, longestPause = 30 * time.Second, time.Hour
)

// Anchorer shows seals to witnesses.
type Anchorer struct {
	port   Port
	shows  []*show
	log    zerolog.Logger
	every  time.Duration
	pause  time.Duration // the first one
	now    func() time.Time
	tries  *prometheus.CounterVec
	behind *prometheus.Desc
}

// show is what is known of one witness.
type show struct {
	Witness
	wake chan struct{}

	mu     sync.Mutex
	n      int64     // the newest seal that it was shown
	since  time.Time // of the first seal that it was not, or of the start
	failed string    // why the last try failed, "" when it did not
}

// New makes an anchorer for witnesses; now is the wall clock.
func New(port Port, witnesses []Witness, now func() time.Time, log zerolog.Logger) *Anchorer {
	a := &Anchorer{port: port, log: log, every: Every, pause: firstPause, now: now,
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dialler_anchor_tries_total",
			Help: "Tries to show a seal to a witness, by its kind and by whether it gave a receipt (kept, failed)."},
			[]string{"kind", "result"}),
		behind: prometheus.NewDesc("dialler_anchor_failing_seconds",
			"For how long the witnesses of a kind have not given a receipt although there was a seal to show, the worst "+
				"of them; 0 when all is well.", []string{"kind"}, nil)}
	for _, w := range witnesses {
		a.shows = append(a.shows, &show{Witness: w, wake: make(chan struct{}, 1)})
		for _, result := range []string{"kept", "failed"} {
			a.tries.WithLabelValues(string(w.Kind()), result)
		}
	}
	return a
}

// Sealed says that there is a seal that should be shown now, because a run has ended. It does not
// wait.
func (a *Anchorer) Sealed() {
	for _, s := range a.shows {
		select {
		case s.wake <- struct{}{}:
		default: // it is awake already, and takes the newest
		}
	}
}

// Run shows seals until ctx ends.
func (a *Anchorer) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, s := range a.shows {
		all.Go(func() { a.run(ctx, s) })
	}
	all.Wait()
}

func (a *Anchorer) run(ctx context.Context, s *show) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause := a.pause
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			if s.problem() != "" {
				continue // it has its pauses
			}
		case <-timer.C:
		}
		err := a.try(ctx, s)
		if ctx.Err() != nil {
			return
		}
		if s.note(err, a.now()) {
			a.tell(s, err)
		}
		if err == nil {
			pause = a.pause
			timer.Reset(a.every)
			continue
		}
		timer.Reset(pause)
		pause = min(2*pause, longestPause)
	}
}

// try shows the newest seal, unless the witness has seen it.
func (a *Anchorer) try(ctx context.Context, s *show) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	seal, ok, err := a.port.Latest(ctx)
	if err != nil {
		return fmt.Errorf("the newest seal was not read: %w", err)
	}
	s.mu.Lock()
	seen := s.n >= seal.N
	s.mu.Unlock()
	if !ok || seen {
		return nil
	}
	data, err := s.Show(ctx, seal)
	if err == nil {
		err = a.port.Keep(ctx, anchor.Receipt{Kind: s.Kind(), URL: s.URL(), N: seal.N, Hash: seal.Hash, At: a.now().UTC(),
			Data: data})
	}
	if err != nil {
		a.tries.WithLabelValues(string(s.Kind()), "failed").Inc()
		return err
	}
	a.tries.WithLabelValues(string(s.Kind()), "kept").Inc()
	s.mu.Lock()
	s.n = seal.N
	s.mu.Unlock()
	return nil
}

func (s *show) problem() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// note remembers what a try came to; it returns whether that is news.
func (s *show) note(err error, now time.Time) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.failed
	if s.failed = ""; err != nil {
		if s.failed = err.Error(); was == "" {
			s.since = now
		}
	}
	return (was == "") != (err == nil)
}

func (a *Anchorer) tell(s *show, err error) {
	if err != nil {
		a.log.Error().Err(err).Str("anchor", s.URL()).
			Msg("a witness gave no receipt for the newest seal; it is tried again until it does")
		return
	}
	a.log.Info().Str("anchor", s.URL()).Msg("the witness gives receipts again")
}

// Failing returns the witness that has failed for longest, since when and why; "" when none fails.
func (a *Anchorer) Failing() (url string, since time.Time, why string) {
	for _, s := range a.shows {
		s.mu.Lock()
		if s.failed != "" && (url == "" || s.since.Before(since)) {
			url, since, why = s.URL(), s.since, s.failed
		}
		s.mu.Unlock()
	}
	return url, since, why
}

// Describe implements prometheus.Collector.
func (a *Anchorer) Describe(ch chan<- *prometheus.Desc) {
	a.tries.Describe(ch)
	ch <- a.behind
}

// Collect implements prometheus.Collector.
func (a *Anchorer) Collect(ch chan<- prometheus.Metric) {
	a.tries.Collect(ch)
	worst := map[anchor.Kind]float64{}
	for _, s := range a.shows {
		s.mu.Lock()
		age := 0.0
		if s.failed != "" {
			age = a.now().Sub(s.since).Seconds()
		}
		worst[s.Kind()] = max(worst[s.Kind()], age)
		s.mu.Unlock()
	}
	for kind, age := range worst {
		ch <- prometheus.MustNewConstMetric(a.behind, prometheus.GaugeValue, age, string(kind))
	}
}
