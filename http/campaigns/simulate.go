package campaigns

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"math"
	"net"
	nethttp "net/http"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
	"dialler/http/wire"
)

// What other settings would do to a campaign (docs/simulation.md): the simulation of engine/sim, on
// the goroutine of its own connection. It works at most half the time, so that two of them leave
// one core of a two-core machine free, and ends when the client disconnects.

const (
	simulationCap     = 2 // concurrent simulations; one per user
	simulationRetry   = 5 * time.Second
	simulationSlice   = 5 * time.Millisecond // of work, then as long of rest
	simulationCounted = 1_000_000            // maximum contacts of a request
	simulationSeed    = 1
	simulationNone    = 1000 // for a campaign without contacts
)

var (
	errSimulating = &engine.Error{Kind: engine.KindTooMany, Code: "simulation_running", RetryAfter: simulationRetry,
		Detail: "A simulation of yours is under way; wait for it, or end it by closing its request."}
	errSimulations = engine.Unavailable("too_many_simulations",
		"", simulationRetry)
	errSimulationLong = engine.Unavailable("simulation_too_long",
		"", simulationRetry)
	errNoOpening = engine.Invalid("window_never_opens",
		"",
		engine.FieldError{Field: "window", Code: "window_never_opens", Message: "does not open after start_at"})
)

// UnderWay are the running simulations.
type UnderWay struct {
	mu sync.Mutex
	by map[string]bool // whose; one each
}

// Take reserves a place for one; done releases it, once.
func (s *UnderWay) Take(who string) (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.by[who]:
		return nil, errSimulating
	case len(s.by) >= simulationCap:
		return nil, errSimulations
	}
	if s.by == nil {
		s.by = map[string]bool{}
	}
	s.by[who] = true
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.by, who)
	}), nil
}

// Count returns how many are running.
func (s *UnderWay) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.by)
}

// simulatedSettings are the settings that a simulation may change, as they were played.
type simulatedSettings struct{ of *forecast.Question }

func (v simulatedSettings) MarshalJSON() ([]byte, error) {
	b, err := writeSettings(&v.of.Settings, func(f *campaign.Field) bool { return f.WhatIf })
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"seats":`+strconv.Itoa(v.of.Seats)+`,`), b[1:]...), nil
}

type simulatedPeople struct {
	callee.Figures
	BotFailures float64         `json:"bot_failure_share"` // of live answers
	Kinds       []simulatedKind `json:"kinds"`
	Source      string          `json:"source"`   // measured, assumed, given
	Attempts    int             `json:"attempts"` // that were measured
}

// simulatedKind is one kind of outcome of dials.
type simulatedKind struct {
	Kind  string   `json:"kind"` // a verdict, answered, or an outcome
	Share float64  `json:"share"`
	Ring  *float64 `json:"ring_s"`
	Took  *float64 `json:"classification_s"`
	Talk  *float64 `json:"talk_s"`
}

func viewPeople(p *callee.People, source string) simulatedPeople {
	round := func(v float64, step float64) float64 { return math.Round(v*step) / step }
	f := p.Figures()
	v := simulatedPeople{Source: source, Attempts: p.Dials, Kinds: []simulatedKind{},
		BotFailures: round(p.Failed.Rate(), 1000), Figures: callee.Figures{Answer: round(f.Answer, 1000),
			Machines: round(f.Machines, 1000), Ring: round(f.Ring, 10), Talk: round(f.Talk, 10)}}
	all := 0.0
	for i := range p.Kinds {
		all += p.Kinds[i].First + p.Kinds[i].Again
	}
	mean := func(s callee.Sample) *float64 {
		if len(s) == 0 {
			return nil
		}
		m := round(s.Mean(), 10)
		return &m
	}
	for i := range p.Kinds {
		k := &p.Kinds[i]
		name := string(cmp.Or(string(k.Verdict), string(k.Outcome), "answered"))
		share := round((k.First+k.Again)/max(all, 1), 1000)
		v.Kinds = append(v.Kinds, simulatedKind{name, share, mean(k.Ring), mean(k.Took), mean(k.Talk)})
	}
	return v
}

type simulatedSide struct {
	Settings simulatedSettings `json:"settings"`
	forecast.Told
}

type simulationView struct {
	Campaign engine.CampaignID `json:"campaign_id"`
	Seed     int               `json:"seed"`
	AsOf     time.Time         `json:"as_of"`
	StartAt  time.Time         `json:"start_at"`
	Contacts int               `json:"contacts"`
	Used     int               `json:"attempts_used"`
	People   simulatedPeople   `json:"people"`
	AsIs     simulatedSide     `json:"as_is"`
	WhatIf   *simulatedSide    `json:"what_if"`
	Trust    *forecast.Trust   `json:"trust"`
}

// simulation is a requested simulation.
type simulation struct {
	view simulationView
	asIs forecast.Question
	then *forecast.Question // nil means nothing is changed
}

// Simulate answers with the simulation of a campaign with its current settings, and with the
// changed ones.
func (s *API) Simulate(r *wire.Request) error {
	d, err := s.detailOf(r)
	if err != nil {
		return err
	}
	asked, err := s.simulationOf(r, &d)
	if err != nil {
		return err
	}
	done, err := s.Running.Take(r.Subject())
	if err != nil {
		return err
	}
	r.Send(nethttp.StatusOK, wire.ContentJSON, nil)
	h := &r.HTTP.Response.Header
	h.SetConnectionClose()
	head := &fasthttp.ResponseHeader{}
	h.CopyTo(head)
	instance, request := r.Instance(), r.ID
	r.AtLeisure(done, func(ctx context.Context, conn net.Conn) {
		body, err := s.played(ctx, conn, asked)
		done() // before the answer, whose receiver may ask for the next one
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			e := wire.AsError(err)
			if e.Kind == engine.KindInternal {
				s.Log.Error().Str("campaign_id", string(d.Campaign.ID)).Str("request_id", request).Str("error",
					wire.Masked(err.Error())).Msg("simulation failed")
			}
			var status int
			status, body = wire.ProblemBody(e, instance, request)
			head.SetStatusCode(status)
			head.SetContentType(wire.ContentProblem)
			if e.RetryAfter > 0 {
				head.Set("Retry-After", wire.RetryAfter(e.RetryAfter))
			}
		}
		if body == nil { // the client has disconnected
			return
		}
		head.SetContentLength(len(body))
		out := &wire.Patient{Conn: conn, Patience: s.limits.Patience}
		if _, err := out.Write(head.AppendBytes(nil)); err == nil {
			_, _ = out.Write(body)
		}
	})
	return nil
}

// played runs a simulation. The body is nil without an error if the client disconnected.
func (s *API) played(ctx context.Context, conn net.Conn, asked *simulation) (body []byte, err error) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	unread := make(chan struct{})
	go func() {
		defer close(unread)
		defer gone()
		var b [1]byte
		_, _ = conn.Read(b[:]) // a client that sends more is ignored
	}()
	defer func() {
		if conn.SetReadDeadline(wire.Past) == nil {
			<-unread
		}
	}()
	within, cancel := context.WithTimeout(ctx, s.limits.SimulationTime)
	defer cancel()
	began := time.Now()
	halt := func() bool {
		if worked := time.Since(began); worked >= simulationSlice {
			pause := time.NewTimer(min(worked, 4*simulationSlice))
			defer pause.Stop()
			select {
			case <-pause.C:
			case <-within.Done():
			}
			began = time.Now()
		}
		return within.Err() != nil
	}
	side := func(q *forecast.Question) (*simulatedSide, error) {
		told, ok := s.told.ask(q, halt)
		if !ok {
			return nil, errSimulationLong
		}
		return &simulatedSide{simulatedSettings{of: q}, told}, nil
	}
	v := asked.view
	asIs, err := side(&asked.asIs)
	if err == nil && asked.then != nil {
		v.WhatIf, err = side(asked.then)
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, err
	}
	v.AsIs = *asIs
	return json.Marshal(v)
}

// toldSides caches the latest answers: the same question has the same answer, and the campaign's
// current settings are simulated beside every change.
type toldSides struct {
	mu   sync.Mutex
	list []toldSide // the latest last
}

type toldSide struct {
	of   [sha256.Size]byte
	told forecast.Told
}

// toldMost bounds how many answers are cached; each takes some 20 KiB.
const toldMost = 16

func (k *toldSides) ask(q *forecast.Question, halt func() bool) (forecast.Told, bool) {
	text, err := json.Marshal(q)
	if err != nil {
		return forecast.Ask(q, halt)
	}
	of := sha256.Sum256(text)
	if told, ok := k.find(of); ok {
		return told, true
	}
	told, ok := forecast.Ask(q, halt)
	if ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.list = append(k.list[max(len(k.list)-toldMost+1, 0):], toldSide{of, told})
	}
	return told, ok
}

func (k *toldSides) find(of [sha256.Size]byte) (forecast.Told, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.list {
		if k.list[i].of == of {
			return k.list[i].told, true
		}
	}
	return forecast.Told{}, false
}

// backTestsView are the back-tests of a campaign's runs.
type backTestsView struct {
	BackTests []forecast.RunBackTest `json:"back_tests"`
	Trust     *forecast.Trust        `json:"trust"`
}

// ShowBackTests answers with what simulations would have predicted for the campaign's runs.
func (s *API) ShowBackTests(r *wire.Request) error {
	d, err := s.detailOf(r)
	if err != nil {
		return err
	}
	list, err := s.Simulations.BackTests(r.Ctx(), d.Campaign.ID)
	if err != nil {
		return err
	}
	if list == nil {
		list = []forecast.RunBackTest{}
	}
	return r.Reply(nethttp.StatusOK, backTestsView{list, forecast.TrustIn(list)})
}
