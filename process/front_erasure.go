package process

import (
	"context"

	"dialler/engine"
)

// ErasePerson implements http.Persons.
func (f *Front) ErasePerson(
	ctx context.Context,
	n engine.PhoneNumber,
	suppress *bool,
	who engine.Who,
) (engine.ErasedPerson, error) {
	if f.p.spool != nil {
		if err := spoolWritten(ctx, func() int64 { return f.p.spool.Stats().Records }); err != nil {
			return engine.ErasedPerson{}, err
		}
	}
	e := Eraser{Store: f.Store, Files: f.p.recorder, running: erasure{f.p.recorder, f.p.flights, f.tree}}
	if f.p.several != nil {
		e.running = clusterErasure{f.p}
	}
	s := f.p.settings()
	rules, _ := s.frequency() // they were checked
	e.CalleePeriod = rules.Longest()
	return e.Erase(ctx, n, suppress, who)
}
