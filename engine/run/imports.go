package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
)

func (s *State) importing(event any, from engine.Request) error {
	switch e := event.(type) {
	case *MayImport:
		s.reply(from, ImportTerms{Sticky: s.M.C.Settings.StickyExclusion}, s.mayAdd())
	case *BeginActivation:
		s.beginActivation(e, from)
	case *activationDue:
		if a := s.Activation; a != nil && a.Import == e.Import {
			s.drained()
		}
	case *ActivationGoesOn:
		if s.Activation == nil {
			s.Activation = &Activation{Import: e.Import} // begun with an earlier instance of this run
		}
	case *CloseGate:
		s.closeGate(e, from)
	case *ActivationEnded:
		return s.activationEnded(e)
	case *call.Stored:
		s.settled(e.Number)
	case *parkedLate:
		s.refuseLate()
	}
	return nil
}

// activationEnded takes in the new contacts and processes the held commands.
func (s *State) activationEnded(m *ActivationEnded) error {
	if a := s.Activation; a == nil || a.Import == m.Import {
		if a != nil {
			s.reply(a.Begin, nil, errImportOver) // it ended before it began
		}
		s.Activation = nil
	}
	if m.Done {
		for _, n := range m.Out.Lifted {
			s.Excluded.DropNumber(n)
		}
		s.readmit(m.Out.Readmit)
		// A run that was loaded since then has already counted them from the tables.
		if m.Epoch == s.M.C.Epoch && s.Tally != nil && m.Out.Import.Added > 0 {
			ev := m.Event
			ev.Data.Count = m.Out.Import.Added
			s.Tally.Apply(&ev)
			s.Rates.Note(&ev)
		}
	}
	if s.M.C.ID != "" {
		s.lookAgain()
		s.Expiry.From = time.Time{}
	}
	return s.goOn()
}

// goOn processes the commands that waited for the end of a switch, or of a page that was taken back.
func (s *State) goOn() error {
	waiting := s.Parked
	s.Parked = nil
	for _, p := range waiting {
		if !s.now.Before(p.Until) {
			s.refuseParked(p)
			continue
		}
		if err := s.handle(p.Event, p.From); err != nil {
			return err
		}
	}
	return nil
}
