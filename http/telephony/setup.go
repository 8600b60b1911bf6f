package telephony

import (
	nethttp "net/http"

	"dialler/engine"
	"dialler/engine/fleet"
	"dialler/engine/setup"
	"dialler/engine/trunk"
	"dialler/http/wire"
)

// The set-up of a new installation: what is there, what is missing, and whether anybody still wants
// to see it.

type setUpView struct {
	Steps []setup.Progress `json:"steps"`
	// Complete says that calls have been placed: nobody needs a set-up any more.
	Complete bool         `json:"complete"`
	Hidden   bool         `json:"hidden"`
	Country  *string      `json:"country"`
	Model    *setup.Model `json:"model"`
}

// ShowSetUp returns how far the installation is on the way to its first conversation.
func (s *API) ShowSetUp(r *wire.Request) error {
	if err := r.NoQuery(); err != nil {
		return err
	}
	view, err := s.setUp(r)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, view)
}

// ChangeSetUp hides the set-up from every administrator, or shows it again.
func (s *API) ChangeSetUp(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	hidden := f.Flag("hidden", false)
	if !f.Has("hidden") {
		f.Fail("hidden", "required", "is required: true or false")
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if err := s.SetUp.HideSetUp(r.Ctx(), hidden); err != nil {
		return err
	}
	view, err := s.setUp(r)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, view)
}

func (s *API) setUp(r *wire.Request) (setUpView, error) {
	var known setup.Known
	trunks, err := s.Trunks.Trunks(r.Ctx())
	if err != nil {
		return setUpView{}, err
	}
	carriers, err := s.Trunks.TrunkStatuses(r.Ctx())
	if err != nil {
		return setUpView{}, err
	}
	for i := range trunks {
		known.Trunks = append(known.Trunks, setup.Thing{ID: string(trunks[i].ID), Usable: trunks[i].Active,
			Proved: carriers[trunks[i].ID].Health == trunk.Up})
	}
	numbers, err := s.Numbers.Numbers(r.Ctx())
	if err != nil {
		return setUpView{}, err
	}
	for i := range numbers {
		usable := numbers[i].State == "active"
		known.Numbers = append(known.Numbers, setup.Thing{ID: numbers[i].Number.E164(), Usable: usable, Proved: usable})
	}
	bots, err := s.Bots.Bots(r.Ctx())
	if err != nil {
		return setUpView{}, err
	}
	answers, err := s.Bots.BotStatuses(r.Ctx())
	if err != nil {
		return setUpView{}, err
	}
	for i := range bots {
		known.Bots = append(known.Bots, setup.Thing{ID: string(bots[i].ID), Usable: bots[i].Active,
			Proved: answers[bots[i].ID].Health == fleet.Up})
	}
	called, hidden, err := s.SetUp.SetUpNotes(r.Ctx())
	if err != nil {
		return setUpView{}, err
	}
	known.Called = called
	view := setUpView{Steps: setup.Steps(known), Complete: called, Hidden: hidden, Model: s.SetUp.ModelPeers()}
	if c := country(trunks, engine.TrunkID(view.Steps[0].With), s.Destinations); c != "" {
		view.Country = &c
	}
	return view, nil
}
