package run

import (
	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/trunk"
)

// preflight asks foreverything that Start asks for, and more, but starts nothing: its facts come
// from the tables and from the owners of seats, trunks and numbers.
func (s *State) preflight(from engine.Request) {
	if s.known(from) {
		s.emit(CheckReady{Request: from, Run: s.M.C.Run, Settings: s.M.C.Settings})
	}
}

func (s *State) preflightReady(m *PreflightReady) {
	if m.Err != nil {
		s.reply(m.Request, nil, journal.Unavailable(m.Err))
		return
	}
	s.setBot(m.Bots)
	f := &m.Facts
	f.Cadence = cadence.Find(s.Cadences, s.M.C.Settings.Cadence)
	f.Calendars = s.M.Calendars
	f.BotBySIP = s.Bot.URIs() != nil
	f.BotKnown, f.BotActive = s.Bot.ID != "", s.Bot.Active
	f.Seats, f.FreeSeats = m.Seats, m.Free+s.seatCap()
	if m.Outage != nil {
		f.BotOutage = m.Outage.Reason
	}
	for _, t := range m.Trunks {
		if !t.Down() {
			f.TrunksUp++
		}
		if t.Health == trunk.Unproven {
			f.TrunksUnproven++
		}
	}
	s.reply(m.Request, campaign.Ready(&s.M.C, *f, m.Outlook, s.now), nil)
}
