package http

import (
	"bytes"
	"context"
	"io"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
	"dialler/engine/journal"
	"dialler/http/wire"
)

func detail(id engine.CampaignID, s campaign.Settings, state campaign.State) campaign.Detail {
	s = s.WithDefaults()
	s.Window.Zone = "Europe/Berlin"
	if s.Bot == "" {
		s.Bot, s.Concurrency = "bot_1", 2
	}
	at := testAt
	return campaign.Detail{
		Campaign: campaign.Campaign{ID: id, Settings: s, State: state, Version: 1, Run: 1, CreatedAt: testAt,
			CreatedBy: engine.Who{Name: "admin@example.org", User: "usr_admin"}},
		Live: &campaign.Live{At: testAt, LastDialAt: &at, Why: campaign.Why{Constraint: engine.ConstraintWindow},
			Indicator: campaign.IndicatorLive, Ledgers: []campaign.LedgerView{}},
	}
}

func (p *ports) Create(_ context.Context, c campaign.Create) (campaign.Detail, error) {
	defer p.lock()()
	p.creates = append(p.creates, c)
	return detail("cmp_1", c.Settings, campaign.Draft), p.fail
}

func (p *ports) Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error) {
	if err := asText(id); err != nil {
		return campaign.Detail{}, err
	}
	defer p.lock()()
	if p.onDetail != nil {
		return p.onDetail(ctx, id)
	}
	if id == "cmp_none" {
		return campaign.Detail{}, wire.ErrNoCampaign
	}
	return detail(id, campaign.Settings{Name: "n", Bot: "bot_1", Concurrency: 2}, campaign.Running), p.fail
}

func (p *ports) List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error) {
	defer p.lock()()
	if p.onList != nil {
		return p.onList(ctx, page)
	}
	p.pages = append(p.pages, page)
	return []campaign.Detail{detail("cmp_1", campaign.Settings{Name: "n"}, campaign.Running)}, 1, p.fail
}

func (p *ports) Act(_ context.Context, c campaign.Act) (campaign.Detail, error) {
	if err := asText(c.Campaign); err != nil {
		return campaign.Detail{}, err
	}
	defer p.lock()()
	p.acts = append(p.acts, c)
	if p.actFail != nil {
		return campaign.Detail{}, p.actFail
	}
	return detail(c.Campaign, campaign.Settings{Name: "n"}, campaign.Running), p.fail
}

func (p *ports) People(context.Context, engine.CampaignID, time.Time) (callee.People, error) {
	defer p.lock()()
	return p.people, p.fail
}

func (p *ports) BackTests(_ context.Context, id engine.CampaignID) ([]forecast.RunBackTest, error) {
	defer p.lock()()
	if id == "cmp_none" {
		return nil, p.fail
	}
	return p.backTests, p.fail
}

func (p *ports) AnswerHours(context.Context) (besthour.Table, error) {
	defer p.lock()()
	return p.hours, p.fail
}

func (p *ports) BestHourDials(context.Context, engine.CampaignID) (with, control besthour.Cell, err error) {
	defer p.lock()()
	return p.withHour, p.controlHour, p.fail
}

func (p *ports) Trusted(context.Context) ([]forecast.RunBackTest, error) {
	defer p.lock()()
	return p.backTests, p.fail
}

func (p *ports) Standing(_ context.Context, _ *campaign.Campaign, at time.Time) (campaign.Position, error) {
	defer p.lock()()
	x := p.standing
	x.At = at
	return x, p.fail
}

func (p *ports) Preflight(_ context.Context, id engine.CampaignID) (campaign.Readiness, error) {
	defer p.lock()()
	if id == "cmp_none" {
		return campaign.Readiness{}, wire.ErrNoCampaign
	}
	at := testAt
	return campaign.Readiness{
		Blockers: []engine.FieldError{{Field: "trunk", Code: "no_trunk", Message: "m"}},
		Warnings: []engine.FieldError{{Field: "bot_id", Code: "bot_inactive", Message: "m"}},
		Contacts: campaign.ContactsAhead{Total: 3, ToDial: 2,
			Skipped: []campaign.SkipReason{{Reason: "suppressed", Count: 1}}},
		Estimate: &campaign.Estimate{DurationSeconds: 60, Dials: 4, Answers: 2, Abandons: 0, EndsAt: &at, AnswerRate: 0.5,
			AHTSeconds: 30, Measured: true},
	}, p.fail
}

func (p *ports) Series(_ context.Context, q campaign.SeriesQuery) (campaign.Series, error) {
	if err := asText(q.Campaign); err != nil {
		return campaign.Series{}, err
	}
	if p.onSeries == nil {
		return campaign.NewSeries(q.Now, q.Now, q.Points), p.fail
	}
	return p.onSeries(q)
}

func (p *ports) Breakdown(_ context.Context, id engine.CampaignID, run int) (campaign.Breakdown, error) {
	if err := asText(id); err != nil {
		return campaign.Breakdown{}, err
	}
	if p.onBreakdown == nil {
		return campaign.Breakdown{Run: max(run, 1)}, p.fail
	}
	return p.onBreakdown(id, run)
}

func (p *ports) Activity(_ context.Context, _ engine.CampaignID, types []journal.Type,
	page campaign.Page) ([]journal.Event, int, error) {
	defer p.lock()()
	p.pages, p.kinds = append(p.pages, page), append(p.kinds, types)
	return p.events, len(p.events), nil
}

func (p *ports) Clone(ctx context.Context, c campaign.Clone) (campaign.Detail, error) {
	if p.onClone != nil {
		p.onClone(ctx)
	}
	defer p.lock()()
	p.clones = append(p.clones, c)
	return detail("cmp_2", campaign.Settings{Name: "n (copy)"}, campaign.Draft), p.fail
}

func (p *ports) Runs(_ context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.RunRecord, int, error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	if id == "cmp_none" {
		return nil, 0, wire.ErrNoCampaign
	}
	at, who := testAt, engine.Who{Name: "oper@example.org", User: "usr_oper"}
	return []campaign.RunRecord{
		{Run: 2, State: campaign.RunPrepared, RestartedAt: &at, RestartedBy: &who, OnlyUnreached: true},
		{Run: 1, State: campaign.RunCompleted, StartedAt: &at, StartedBy: &who, CompletedAt: &at, EndedBy: &who,
			CompletionReason: campaign.ReasonManuallyStopped, Counters: campaign.Counters{Total: 7}},
	}, 2, p.fail
}

func (p *ports) RunExists(_ context.Context, id engine.CampaignID, run int) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	switch {
	case id != "cmp_1":
		return engine.NotFound("campaign_not_found", "no campaign has this identifier")
	case run > 2:
		return engine.NotFound("run_not_found", "the campaign has no run of this number")
	}
	return nil
}

func (p *ports) OpenEvidence(_ context.Context, _ engine.CampaignID, _ int, who engine.Who) (io.ReadSeekCloser, error) {
	defer p.lock()()
	if p.fail != nil {
		return nil, p.fail
	}
	p.suppressors = append(p.suppressors, who)
	p.opened++
	return audioFile{bytes.NewReader(p.audio), func() { defer p.lock()(); p.opened-- }}, nil
}

func (p *ports) Cadences(context.Context) ([]cadence.Named, error) {
	defer p.lock()()
	return append([]cadence.Named(nil), p.cadences...), nil
}

func (p *ports) PutCadence(_ context.Context, c cadence.Named, at time.Time,
	_ engine.Who) (cadence.Named, bool, error) {
	if err := asText(c.ID); err != nil {
		return c, false, err
	}
	defer p.lock()()
	c.UpdatedAt = at
	i := slices.IndexFunc(p.cadences, func(x cadence.Named) bool { return x.ID == c.ID })
	switch {
	case i < 0 && c.Version > 0:
		return c, false, engine.NotFound("cadence_not_found", "")
	case i < 0:
		c.Version, c.CreatedAt = 1, at
		p.cadences = append(p.cadences, c)
		return c, true, nil
	case p.cadences[i].Version != c.Version:
		conflict := engine.Conflict("version_conflict", "")
		conflict.Current = p.cadences[i]
		return c, false, conflict
	}
	c.Version, c.CreatedAt = c.Version+1, p.cadences[i].CreatedAt
	p.cadences[i] = c
	return c, false, nil
}

func (p *ports) DeleteCadence(_ context.Context, id engine.CadenceID, _ engine.Who) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	i := slices.IndexFunc(p.cadences, func(x cadence.Named) bool { return x.ID == id })
	if i < 0 {
		return engine.NotFound("cadence_not_found", "")
	}
	for _, c := range p.creates {
		if c.Settings.Cadence == id {
			return engine.Conflict("cadence_in_use", "")
		}
	}
	p.cadences = slices.Delete(p.cadences, i, i+1)
	return nil
}

func (p *ports) Calendars(context.Context) ([]calendar.Named, error) {
	defer p.lock()()
	return append([]calendar.Named(nil), p.calendars...), nil
}

func (p *ports) PutCalendar(_ context.Context, c calendar.Named, _ bool, at time.Time,
	_ engine.Who) (calendar.Named, bool, error) {
	defer p.lock()()
	c.UpdatedAt = at
	i := slices.IndexFunc(p.calendars, func(x calendar.Named) bool { return x.ID == c.ID })
	switch {
	case i < 0 && c.Version > 0:
		return c, false, engine.NotFound("calendar_not_found", "")
	case i < 0:
		c.Version, c.CreatedAt = 1, at
		p.calendars = append(p.calendars, c)
		return c, true, nil
	case p.calendars[i].Version != c.Version:
		conflict := engine.Conflict("version_conflict", "")
		conflict.Current = p.calendars[i]
		return c, false, conflict
	}
	c.Version, c.CreatedAt = c.Version+1, p.calendars[i].CreatedAt
	p.calendars[i] = c
	return c, false, nil
}

func (p *ports) DeleteCalendar(_ context.Context, id engine.CalendarID, _ engine.Who) error {
	defer p.lock()()
	for _, c := range p.creates {
		if slices.Contains(c.Settings.Calendars, id) {
			return engine.Conflict("calendar_in_use", "")
		}
	}
	p.calendars = slices.DeleteFunc(p.calendars, func(x calendar.Named) bool { return x.ID == id })
	return nil
}

func (p *ports) FetchHolidays(context.Context, string) (string, error) {
	defer p.lock()()
	if p.holidays == "" {
		return "", engine.Invalid("holidays_unreachable", "the file cannot be fetched: its server answered 404")
	}
	return p.holidays, nil
}
