package telephony

import (
	nethttp "net/http"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/form"
	"dialler/http/wire"
)

// TestTrunk places one call over the trunk of the path and no other.
func (s *API) TestTrunk(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	trunks, err := s.Trunks.Trunks(r.Ctx())
	if err != nil {
		return err
	}
	id := engine.TrunkID(wire.PathID(f, r, "trunk_id"))
	to := f.CalleeAsWritten("to_number", country(trunks, id, s.Destinations))
	cmd := campaign.Dialout{
		Trunk: id, Bot: engine.BotID(f.Text("bot_id", form.Required, 64)),
		To: to.Number, From: f.Phone("from_number"),
		Variables: f.Variables("variables", false), Who: r.Who(), Deadline: r.Deadline(),
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if err := wire.MayCall(s.Destinations, "to_number", to); err != nil {
		return err
	}
	for i := range trunks {
		switch {
		case trunks[i].ID != cmd.Trunk:
		case !trunks[i].Active:
			return engine.Conflict("trunk_inactive", "")
		default:
			reply, err := s.Calls.Dialout(r.Ctx(), cmd)
			if err != nil {
				return err
			}
			r.HTTP.Response.Header.Set("Location", "/api/v1/calls/"+string(reply.CallID))
			return r.Reply(nethttp.StatusCreated, reply)
		}
	}
	return engine.NotFound("trunk_not_found", "")
}

// country is the country of numbers that are written without one: that in which the trunk writes
// numbers, or else the only one that is called; "" if neither is known.
func country(trunks []engine.TrunkSettings, id engine.TrunkID, known wire.Destinations) string {
	for i := range trunks {
		if trunks[i].ID == id && trunks[i].NumberCountry != "" {
			return trunks[i].NumberCountry
		}
	}
	return known.OnlyCountry()
}
