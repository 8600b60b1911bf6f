package run

import (
	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// An operator's actions on one contact. Excluding it excludes its number; whether it can be
// dialled, now or at a given time, is the contact's own decision.

// operate asks for the contact; it refuses at once to call a contact that must not be called.
func (s *State) operate(m *Operate, from engine.Request) {
	if !s.known(from) || s.past(m.Command.Deadline, from) {
		return
	}
	calls := m.Command.Action != campaign.ExcludeContact
	if err := s.M.C.Dials(); calls && err != nil {
		s.reply(from, nil, err)
		return
	}
	s.emit(FindOperated{Read: s.beginRead(), Request: from, Command: m.Command, Calls: calls})
}

func (s *State) operateFound(m *OperateFound) error {
	defer s.endRead(m.Read)
	if m.Err == nil && !m.OK {
		m.Err = call.ErrContactNotFound
	}
	if m.Err != nil {
		s.reply(m.Request, nil, journal.Unavailable(m.Err))
		return nil
	}
	if m.Command.Action == campaign.ExcludeContact {
		who := m.Command.Who
		return s.handle(&Exclude{Command: campaign.Exclude{Campaign: s.ID, Number: m.Row.Number, Reason: m.Command.Reason,
			Who: who, Deadline: m.Command.Deadline}, Who: &who}, m.Request)
	}
	err := s.M.C.Dials() // the campaign may have ended while the database was asked
	until, erasing := s.Erasing[m.Row.Number]
	switch {
	case err != nil:
	case s.Excluded.Refuses(m.Row.Number, m.Row.Alternates, m.Row.Variables, true):
		err = call.ErrContactExcluded
	case erasing && s.now.Before(until):
		err = errBeingErased
	}
	if err != nil {
		s.reply(m.Request, nil, err)
		return nil
	}
	s.touchFound(m.Read, m.Row, &call.Operate{Command: m.Command, Request: m.Request})
	return nil
}
