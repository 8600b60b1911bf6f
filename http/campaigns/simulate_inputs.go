package campaigns

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
	"dialler/http/form"
	"dialler/http/wire"
)

// simulationOf reads the body, which may be empty, on top of what is known of the campaign.
func (s *API) simulationOf(r *wire.Request, d *campaign.Detail) (*simulation, error) {
	c := d.Campaign.Settings.WithDefaults()
	now := s.Now().UTC()
	in := simulationInputs{seed: simulationSeed, asOf: now.Truncate(time.Microsecond), source: "assumed"}
	var f form.Form
	body := len(r.HTTP.PostBody()) > 0
	if body {
		var err error
		if f, err = r.Body(); err != nil {
			return nil, err
		}
		in.read(f, now)
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
	}
	q := forecast.Question{Settings: c, Seed: uint64(in.seed)} //nolint:gosec // not negative
	if err := s.simulatedWorld(r.Ctx(), &q); err != nil {
		return nil, err
	}
	var err error
	of := d.Campaign
	of.Settings = c
	if q.Standing, err = s.Simulations.Standing(r.Ctx(), &of, in.asOf); err != nil {
		return nil, err
	}
	people, err := s.Simulations.People(r.Ctx(), cmp.Or(in.peopleOf, of.ID), in.asOf)
	if err != nil {
		return nil, err
	}
	if people.Dials >= callee.MeasuredLeast {
		in.source = "measured"
	}
	q.Meet(&people)
	if contacts, _ := q.Standing.Contacts(); in.contacts > 0 || contacts == 0 {
		x := forecast.ListOf(cmp.Or(in.contacts, simulationNone), in.used, in.asOf)
		x.Created, x.Started, x.Begun, x.Answers, x.Learnt = q.Standing.Created, q.Standing.Started, q.Standing.Begun,
			q.Standing.Answers, q.Standing.Learnt
		q.Standing = x
	}
	q.Start = in.asOf
	if in.startAt != nil {
		q.Start = in.startAt.UTC()
	}
	then := q
	asked := &simulation{}
	if body {
		in.change(f, &q, people.Dials)
		then.People = q.People
		if w, ok := f.Object("what_if"); ok {
			readWhatIf(w, &then)
			asked.then = &then
			f.Errs.Merge(simulable(&then))
			withoutEffect(w, &q, &then)
		}
		f.Done()
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
	}
	if !q.Settings.Window.Open(q.Start) {
		at, ok := q.Settings.Window.NextOpening(q.Start)
		if !ok {
			return nil, errNoOpening
		}
		q.Start = at.UTC()
	}
	then.Start = q.Start
	if asked.then != nil && !then.Settings.Window.Open(then.Start) {
		if _, ok := then.Settings.Window.NextOpening(then.Start); !ok {
			return nil, errNoOpening
		}
	}
	trusted, err := s.Simulations.Trusted(r.Ctx())
	if err != nil {
		return nil, err
	}
	asked.asIs = q
	contacts, used := q.Standing.Contacts()
	asked.view = simulationView{Campaign: of.ID, Seed: in.seed, AsOf: in.asOf, StartAt: q.Start, Contacts: contacts,
		Used: used, People: viewPeople(&q.People, in.source), Trust: forecast.TrustIn(trusted)}
	return asked, nil
}

// simulationInputs are the fields of a body that define the question.
type simulationInputs struct {
	seed           int
	asOf           time.Time
	startAt        *time.Time
	contacts, used int
	peopleOf       engine.CampaignID
	source         string
}

func (in *simulationInputs) read(f form.Form, now time.Time) {
	in.seed = f.Within("seed", in.seed, 0, math.MaxInt32)
	if at := f.When("as_of"); at != nil {
		in.asOf = at.UTC()
		if d := now.Sub(*at); d < 0 || d > simulationBack {
			f.Fail("as_of", "out_of_range", "must be within the last hour")
		}
	}
	if in.startAt = f.When("start_at"); in.startAt != nil {
		if d := in.startAt.Sub(now); d < -simulationFar || d > simulationFar {
			f.Fail("start_at", "out_of_range", "must be within 366 days of now")
		}
	}
	if f.Has("contacts") {
		in.contacts = f.Within("contacts", simulationNone, 1, simulationCounted)
	}
	in.used = f.Within("attempts_used", 0, 0, math.MaxInt32)
	if p, ok := f.Object("people"); ok {
		in.peopleOf = engine.CampaignID(p.Text("campaign_id", false, campaignIDMost))
	}
}

// campaignIDMost bounds the length of an identifier.
const campaignIDMost = 64

// simulationBack is how old the moment asked about may be, because later events are known too.
const simulationBack = time.Hour

// noEffect refuses an input that changes nothing, because the user believes that it does.
func noEffect(f form.Form, field, why string) { f.Fail(field, "no_effect", "has no effect: "+why) }

// change reads the people's behaviour, and refuses inputs that do not apply to the list.
func (in *simulationInputs) change(f form.Form, q *forecast.Question, measured int) {
	most := in.contacts * (q.Settings.MaxAttempts - 1)
	switch {
	case !f.Has("attempts_used"):
	case in.contacts == 0:
		noEffect(f, "attempts_used", "the attempts of the campaign's own contacts are known; give contacts, too")
	case in.used > most:
		noEffect(f, "attempts_used", "each contact has an attempt left; "+strconv.Itoa(most)+" is the most")
	}
	p, ok := f.Object("people")
	if !ok {
		return
	}
	if in.peopleOf != "" && measured < callee.MeasuredLeast {
		p.Fail("campaign_id", "too_few_attempts", "fewer than "+strconv.Itoa(callee.MeasuredLeast)+
			" attempts of that campaign are known; its people cannot be measured")
	}
	was := q.People.Figures()
	read := func(field string, least, most float64, set func(float64)) {
		if !p.Has(field) {
			return
		}
		v := p.Decimal(field, 0)
		if !(v >= least && v <= most) {
			p.Fail(field, "out_of_range", "must be from "+strconv.FormatFloat(least, 'g', -1,
				64)+" to "+strconv.FormatFloat(most, 'g', -1, 64))
			return
		}
		set(v)
		in.source = "given"
	}
	if p.Has("machine_share") && q.Settings.AMD == engine.AMDOff {
		noEffect(p, "machine_share", "classification is off; talk_s applies to all answers, machines too")
	}
	read("answer_rate", 0, 1, q.People.SetAnswer)
	read("machine_share", 0, 0.99, q.People.SetMachines)
	f2 := q.People.Figures()
	for _, field := range []string{"ring_s", "talk_s"} {
		if p.Has(field) && f2.Answer == 0 {
			noEffect(p, field, "nobody answers")
		}
	}
	read("ring_s", 0.1, 120, q.People.SetRing)
	read("talk_s", 1, 4*3600, q.People.SetTalk)
	if p.Has("answer_rate") && was.Answer == 0 && f2.Answer == 0 && p.Decimal("answer_rate", 0) > 0 {
		noEffect(p, "answer_rate", "no answers were measured, so how people would answer is unknown; leave people out")
	}
	p.Done()
}

// withoutEffect reports changed settings that change nothing.
func withoutEffect(w form.Form, q, then *forecast.Question) {
	is, c := &q.Settings, &then.Settings
	if c.MaxAttempts == 1 && c.RetryDelaySec != is.RetryDelaySec {
		noEffect(w, "retry_delay_s", "with one attempt nobody is dialled again")
	}
	if c.PacingMode == campaign.PacingProgressive && c.AbandonCapPPM != is.AbandonCapPPM {
		noEffect(w, "abandon_cap_pct", "progressive pacing abandons nobody whatever the cap")
	}
	if min(q.Seats, is.Concurrency) != min(then.Seats, c.Concurrency) {
		return
	}
	if then.Seats != q.Seats {
		noEffect(w, "seats", "concurrency allows "+strconv.Itoa(c.Concurrency)+" conversations; raise it, too")
	}
	if c.Concurrency != is.Concurrency {
		noEffect(w, "concurrency", "the bot has "+strconv.Itoa(then.Seats)+" seats; raise them, too")
	}
}

// simulationFar is how far from now a simulation may start.
const simulationFar = 366 * 24 * time.Hour

// simulatedWorld sets what there is to dial with.
func (s *API) simulatedWorld(ctx context.Context, q *forecast.Question) error {
	bots, err := s.Bots.Bots(ctx)
	if err != nil {
		return err
	}
	trunks, err := s.Trunks.Trunks(ctx)
	if err != nil {
		return err
	}
	cadences, err := s.Cadences.Cadences(ctx)
	if err != nil {
		return err
	}
	calendars, err := s.Calendars.Calendars(ctx)
	if err != nil {
		return err
	}
	numbers, err := s.Numbers.Numbers(ctx)
	q.Use(bots, trunks, numbers, cadences, calendars)
	return err
}

// readWhatIf reads the changed settings.
func readWhatIf(f form.Form, q *forecast.Question) {
	q.Seats = f.Within("seats", q.Seats, 1, 100_000)
	for i := range campaign.Fields {
		if campaign.Fields[i].WhatIf {
			readSetting(f, &campaign.Fields[i], &q.Settings)
		}
	}
	f.Done()
	q.Narrow()
}

// simulable reports errors in the changed settings only: the others were accepted before.
func simulable(q *forecast.Question) error {
	c := q.Settings
	c.AlwaysOn = false // the list is played as it is
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
