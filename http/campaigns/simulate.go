package campaigns

import (
	"cmp"
	"context"
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
	"dialler/engine/contact"
	"dialler/engine/sim"
	"dialler/engine/window"
	"dialler/http/form"
	"dialler/http/wire"
)

// What would become of a campaign by other settings (docs/simulation.md): the
// simulation of engine/sim, on the goroutine of its own connection. It works half
// of the time at most, so that two of them leave a machine of two cores a whole
// one, and ends when the client goes.

const (
	simulationCap     = 2 // under way at a time; one of a user
	simulationRetry   = 5 * time.Second
	simulationSlice   = 5 * time.Millisecond // of work, and as long of rest
	simulationCounted = 1_000_000            // contacts that may be asked for
	simulationSeed    = 1
	simulationNone    = 1000 // contacts of a campaign that has none yet
)

var (
	errSimulating = &engine.Error{Kind: engine.KindTooMany, Code: "simulation_running", RetryAfter: simulationRetry,
		Detail: "A simulation of yours is under way; wait for it, or end it by closing its request."}
	errSimulations = engine.Unavailable("too_many_simulations",
		"As many simulations are under way as the dialler plays at a time; try again after Retry-After.", simulationRetry)
	errSimulationLong = engine.Unavailable("simulation_too_long",
		"The simulation was not done in time; ask for fewer contacts or fewer seats, or try again when the dialler has "+
			"less to do.", simulationRetry)
	errNoOpening = engine.Invalid("window_never_opens",
		"The calling window does not open any more; check days and holidays.",
		engine.FieldError{Field: "window", Code: "window_never_opens", Message: "does not open after start_at"})
)

// UnderWay are the simulations that are.
type UnderWay struct {
	mu sync.Mutex
	by map[string]bool // whose; one each
}

// Take finds room for one; done gives it back, once.
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

// Count is how many there are.
func (s *UnderWay) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.by)
}

// simulatedSettings are what a simulation may change, as it was played.
type simulatedSettings struct {
	Seats         int           `json:"seats"`
	Concurrency   int           `json:"concurrency"`
	MaxLines      int           `json:"max_lines"`
	AbandonCapPct float64       `json:"abandon_cap_pct"`
	PacingMode    string        `json:"pacing_mode"`
	MaxAttempts   int           `json:"max_attempts"`
	RetryDelaySec int           `json:"retry_delay_s"`
	RingTimeout   int           `json:"ring_timeout_s"`
	SingleDay     bool          `json:"single_day"`
	Window        window.Window `json:"window"`
}

type simulatedPeople struct {
	callee.People
	Source   string `json:"source"`   // measured, assumed, given
	Attempts int    `json:"attempts"` // that were measured
}

type simulatedSide struct {
	Settings simulatedSettings `json:"settings"`
	Summary  sim.Answer        `json:"summary"`
	Series   sim.Series        `json:"series"`
}

type simulationView struct {
	Campaign engine.CampaignID `json:"campaign_id"`
	Seed     int               `json:"seed"`
	StartAt  time.Time         `json:"start_at"`
	Contacts int               `json:"contacts"`
	Used     int               `json:"attempts_used"`
	People   simulatedPeople   `json:"people"`
	AsIs     simulatedSide     `json:"as_is"`
	WhatIf   *simulatedSide    `json:"what_if"`
}

// simulation is one that was asked for.
type simulation struct {
	view simulationView
	asIs sim.Question
	then *sim.Question // nil: nothing is changed
}

// Simulate answers with what the simulation says of a campaign as it is, and by
// the changed settings.
func (s *API) Simulate(r *wire.Request) error {
	d, err := s.detailOf(r)
	if err != nil {
		return err
	}
	past, err := s.Simulations.Behaviour(r.Ctx(), d.Campaign.ID)
	if err != nil {
		return err
	}
	asked, err := s.simulationOf(r, &d, &past)
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
		done() // before the answer: who has it may ask for the next one
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
		if body == nil { // nobody is there any more
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

// played plays what was asked for. The body is nil without an error when the
// client went.
func (s *API) played(ctx context.Context, conn net.Conn, asked *simulation) (body []byte, err error) {
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	unread := make(chan struct{})
	go func() {
		defer close(unread)
		defer gone()
		var b [1]byte
		_, _ = conn.Read(b[:]) // a client that goes on talking is none
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
	side := func(q *sim.Question) (*simulatedSide, error) {
		a, series, ok, err := sim.Ask(q, halt)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, errSimulationLong
		}
		return &simulatedSide{Settings: viewSimulated(q), Summary: a, Series: series}, nil
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

func viewSimulated(q *sim.Question) simulatedSettings {
	c := &q.Settings
	return simulatedSettings{Seats: q.Seats, Concurrency: c.Concurrency, MaxLines: c.MaxLines,
		AbandonCapPct: float64(c.AbandonCapPPM) / 10_000,
		PacingMode:    c.PacingMode, MaxAttempts: c.MaxAttempts,
		RetryDelaySec: c.RetryDelaySec, RingTimeout: c.RingTimeoutSec,
		SingleDay: c.SingleDay, Window: c.Window}
}

// simulationOf reads the body, which may be empty, over what is known of the
// campaign.
func (s *API) simulationOf(r *wire.Request, d *campaign.Detail, past *campaign.Behaviour) (*simulation, error) {
	c := d.Campaign.Settings.WithDefaults()
	people, measured := callee.Measured(past, c.AMD != engine.AMDOff)
	asked := &simulation{view: simulationView{Campaign: d.Campaign.ID, Seed: simulationSeed,
		People: simulatedPeople{People: people, Source: "assumed", Attempts: past.Dials}}}
	if measured {
		asked.view.People.Source = "measured"
	}
	q := sim.Question{Settings: c, Start: s.Now().UTC().Truncate(time.Minute),
		PeopleRing: time.Duration(c.RingTimeoutSec) * time.Second}
	q.Contacts, q.Used = contactsAhead(d, c.MaxAttempts)
	if err := s.simulatedWorld(r.Ctx(), &q); err != nil {
		return nil, err
	}
	then := q
	if len(r.HTTP.PostBody()) > 0 {
		f, err := r.Body()
		if err != nil {
			return nil, err
		}
		asked.view.Seed = f.Within("seed", simulationSeed, 0, math.MaxInt32)
		if at := f.When("start_at"); at != nil {
			q.Start = at.UTC()
			if d := at.Sub(s.Now()); d < -simulationFar || d > simulationFar {
				f.Fail("start_at", "out_of_range", "must be within 366 days of now")
			}
		}
		if f.Has("contacts") {
			q.Contacts, q.Used = f.Within("contacts", simulationNone, 1, simulationCounted), 0
		}
		q.Used = f.Within("attempts_used", q.Used, 0, math.MaxInt32)
		if p, ok := f.Object("people"); ok {
			asked.view.People.People, asked.view.People.Source = readPeople(p, people), "given"
		}
		then = q
		if w, ok := f.Object("what_if"); ok {
			readWhatIf(w, &then)
			asked.then = &then
		}
		f.Done()
		if asked.then != nil {
			f.Errs.Merge(simulable(&then))
		}
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
	}
	q.Seed, q.People = uint64(asked.view.Seed), asked.view.People.People //nolint:gosec // not negative
	if !q.Settings.Window.Open(q.Start) {
		at, ok := q.Settings.Window.NextOpening(q.Start)
		if !ok {
			return nil, errNoOpening
		}
		q.Start = at.UTC()
	}
	then.Seed, then.People, then.Start = q.Seed, q.People, q.Start
	if asked.then != nil && !then.Settings.Window.Open(then.Start) {
		if _, ok := then.Settings.Window.NextOpening(then.Start); !ok {
			return nil, errNoOpening
		}
	}
	asked.asIs = q
	asked.view.StartAt, asked.view.Contacts, asked.view.Used = q.Start, q.Contacts, q.Used
	return asked, nil
}

// simulationFar is how far from now a simulation may start.
const simulationFar = 366 * 24 * time.Hour

// contactsAhead counts the contacts that are not final, and the attempts that
// they have used.
func contactsAhead(d *campaign.Detail, maxAttempts int) (contacts, used int) {
	for state, n := range d.Counters.States {
		if state != contact.Excluded && !state.Processed() {
			contacts += n
		}
	}
	if contacts <= 0 {
		return simulationNone, 0
	}
	return contacts, max(0, contacts*maxAttempts-d.Counters.RetriesLeft)
}

// simulatedWorld says what there is to dial with.
func (s *API) simulatedWorld(ctx context.Context, q *sim.Question) error {
	bots, err := s.Bots.Bots(ctx)
	if err != nil {
		return err
	}
	q.Seats = q.Settings.Concurrency
	for i := range bots {
		if bots[i].ID == q.Settings.Bot && bots[i].Seats > 0 {
			q.Seats = bots[i].Seats
		}
	}
	trunks, err := s.Trunks.Trunks(ctx)
	if err != nil {
		return err
	}
	for i := range trunks {
		if t := &trunks[i]; t.Active {
			q.CPS, q.Channels = q.CPS+cmp.Or(t.CPSCap, 10), q.Channels+cmp.Or(t.ChannelCap, 100)
		}
	}
	if q.CPS == 0 { // a draft may be tried before there is a trunk
		q.CPS, q.Channels = 10, 100
	}
	q.Numbers, err = s.Numbers.Numbers(ctx)
	return err
}

// readPeople reads how people behave over what is known of them.
func readPeople(f form.Form, known callee.People) callee.People {
	p := known
	read := func(field string, v *float64, least, most float64) {
		*v = f.Decimal(field, *v)
		if !(*v >= least && *v <= most) {
			f.Fail(field, "out_of_range", "must be from "+strconv.FormatFloat(least, 'g', -1,
				64)+" to "+strconv.FormatFloat(most, 'g', -1, 64))
		}
	}
	read("answer_rate", &p.Answer, 0, 1)
	read("machine_share", &p.Machines, 0, 0.99)
	read("ring_s", &p.Ring, 1, 120)
	read("ring_sd_s", &p.RingSD, 0, 120)
	read("talk_s", &p.Talk, 1, 4*3600)
	read("short_share", &p.Short, 0, 1)
	f.Done()
	return p
}

// readWhatIf reads the settings that are changed.
func readWhatIf(f form.Form, q *sim.Question) {
	c := &q.Settings
	q.Seats = f.Within("seats", q.Seats, 1, 100_000)
	c.Concurrency = f.Whole("concurrency", c.Concurrency)
	c.MaxLines = f.Whole("max_lines", c.MaxLines)
	c.MaxAttempts = f.Whole("max_attempts", c.MaxAttempts)
	c.RetryDelaySec = f.Whole("retry_delay_s", c.RetryDelaySec)
	c.RingTimeoutSec = f.Whole("ring_timeout_s", c.RingTimeoutSec)
	c.SingleDay = f.Flag("single_day", c.SingleDay)
	c.PacingMode = f.Term("pacing_mode", c.PacingMode)
	if f.Has("abandon_cap_pct") {
		c.AbandonCapPPM = readAbandonCap(f)
	}
	if w, ok := f.Object("window"); ok {
		c.Window = readWindow(w)
	}
	f.Done()
}

// simulable names what is wrong with the changed settings alone: the others were
// taken before.
func simulable(q *sim.Question) error {
	c := q.Settings
	c.AlwaysOn = false // the list is played as it stands
	err := c.Validate()
	if e := wire.AsError(err); err != nil && e.Kind == engine.KindInvalid {
		fields := make([]engine.FieldError, 0, len(e.Fields))
		for _, f := range e.Fields {
			f.Field = "what_if." + f.Field
			fields = append(fields, f)
		}
		return engine.Invalid(e.Code, e.Detail, fields...)
	}
	return err
}
