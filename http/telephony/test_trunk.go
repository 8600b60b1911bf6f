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
	to := f.Callee("to_number")
	cmd := campaign.Dialout{
		Trunk: engine.TrunkID(wire.PathID(f, r, "trunk_id")), Bot: engine.BotID(f.Text("bot_id", form.Required, 64)),
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
	trunks, err := s.Trunks.Trunks(r.Ctx())
	if err != nil {
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
