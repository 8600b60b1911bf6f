package http

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/fleet"
	"dialler/engine/numberpool"
	"dialler/engine/setup"
	"dialler/engine/trunk"
	"dialler/http/telephony"
)

func (p *ports) Bots(context.Context) ([]engine.Bot, error) {
	defer p.lock()()
	return append([]engine.Bot(nil), p.bots...), nil
}

func (p *ports) BotStatuses(context.Context) (map[engine.BotID]telephony.BotStatus, error) {
	defer p.lock()()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	out := map[engine.BotID]telephony.BotStatus{}
	for _, b := range p.bots {
		s := telephony.BotStatus{Health: fleet.Down, Held: 3}
		for i, e := range b.Endpoints {
			st := fleet.EndpointStatus{Endpoint: e, Health: fleet.Unknown}
			if i == 0 {
				st.Health, st.Since, st.Reason, st.AskedAgainAt = fleet.Down, now, "the bot answered HTTP 503", &now
			}
			s.Endpoints = append(s.Endpoints, st)
		}
		out[b.ID] = s
	}
	return out, nil
}

func (p *ports) PutBot(_ context.Context, b engine.Bot, keep bool, _ engine.Who) (engine.Bot, bool, error) {
	defer p.lock()()
	p.keep = keep
	for i := range p.bots {
		if p.bots[i].ID == b.ID {
			if keep {
				b.AuthToken = p.bots[i].AuthToken
			}
			p.bots[i] = b
			return b, false, nil
		}
	}
	p.bots = append(p.bots, b)
	return b, true, nil
}

func (p *ports) SetUpNotes(context.Context) (called, hidden bool, err error) {
	defer p.lock()()
	return p.called, p.hidden, nil
}

func (p *ports) HideSetUp(_ context.Context, hidden bool) error {
	defer p.lock()()
	p.hidden = hidden
	return nil
}

func (p *ports) ModelPeers() *setup.Model { return p.model }

func (p *ports) Trunks(context.Context) ([]engine.TrunkSettings, error) {
	defer p.lock()()
	return append([]engine.TrunkSettings(nil), p.trunks...), nil
}

func (p *ports) DeleteTrunk(_ context.Context, id engine.TrunkID, _ engine.Who) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	n := len(p.trunks)
	p.trunks = slices.DeleteFunc(p.trunks, func(t engine.TrunkSettings) bool { return t.ID == id })
	if len(p.trunks) == n {
		return engine.NotFound("trunk_not_found", "no trunk has this identifier")
	}
	return nil
}

func (p *ports) TrunkStatuses(context.Context) (map[engine.TrunkID]telephony.TrunkStatus, error) {
	defer p.lock()()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	until, retry := at.Add(10*time.Minute), at.Add(time.Minute)
	return map[engine.TrunkID]telephony.TrunkStatus{
		"t1": {
			Status: trunk.Status{
				Health:   trunk.Held,
				Rate:     5,
				Share:    0.5,
				Placed:   2.5,
				Legs:     7,
				Channels: 30,
				RetryAt:  &retry,
				Reason:   "200 OK",
			},
			CheckedAt:       &at,
			RegisteredUntil: &until,
		},
	}, nil
}

func (p *ports) PutTrunk(_ context.Context, t engine.TrunkSettings, keep bool, _ engine.Who) (bool, error) {
	defer p.lock()()
	p.keep = keep
	for i := range p.trunks {
		if p.trunks[i].ID == t.ID {
			if keep {
				t.Password = p.trunks[i].Password
			}
			p.trunks[i] = t
			return false, nil
		}
	}
	p.trunks = append(p.trunks, t)
	return true, nil
}

func (p *ports) NumberStatuses(context.Context) (map[engine.PhoneNumber]numberpool.Status, error) {
	at := testAt
	return map[engine.PhoneNumber]numberpool.Status{"+493023125000": {State: numberpool.Resting, InUse: 1, HourDials: 7,
		DayDials: 20, Strikes: 2,
		Answered: 16, Ended: 64, Alarm: numberpool.AlarmFloor, UsedAt: &at, RestsTill: &at}}, p.fail
}

func (p *ports) Numbers(context.Context) ([]engine.NumberSettings, error) {
	defer p.lock()()
	return append([]engine.NumberSettings(nil), p.numbers...), nil
}

func (p *ports) PutNumber(_ context.Context, n engine.NumberSettings, _ engine.Who) (bool, error) {
	defer p.lock()()
	p.numbers = append(p.numbers, n)
	return true, nil
}

func (p *ports) DeleteBot(_ context.Context, id engine.BotID, force bool, _ engine.Who) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	switch {
	case id != "bot_1":
		return notFound("bot_not_found")
	case !force:
		e := engine.Conflict("bot_in_use", "It is in use.")
		e.Fields = []engine.FieldError{{Field: "campaign_id", Code: "running", Message: "cmp_1 is running"}}
		return e
	}
	p.forced = append(p.forced, force)
	return p.fail
}
