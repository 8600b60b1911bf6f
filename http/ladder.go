package http

import (
	"dialler/http/form"
	"dialler/http/wire"

	nethttp "net/http"
	"strings"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/ladder"
)

// ladderView is what crossed the wire in a call, with what it means.
type ladderView struct {
	CallID    engine.CallID    `json:"call_id"`
	AttemptID engine.AttemptID `json:"attempt_id"`
	Messages  []messageView    `json:"messages"`
	// Drawing is the same as text.
	Drawing string `json:"drawing"`
}

type messageView struct {
	engine.SIPMessage
	Title       string `json:"title"`
	Explanation string `json:"explanation"`
}

// ladder shows the SIP messages of a call: JSON, or the drawing alone for a
// client that asks for text.
func (s *Server) ladder(r *wire.Request) error {
	a, err := s.visibleCall(r)
	if err != nil {
		return err
	}
	id := a.ID.Call()
	messages, err := s.Calls.Ladder(r.Ctx(), id)
	if err != nil {
		return err
	}
	if strings.HasPrefix(string(r.HTTP.Request.Header.Peek("Accept")), "text/plain") {
		r.Send(nethttp.StatusOK, "text/plain; charset=utf-8", []byte(ladder.Draw(messages)))
		return nil
	}
	return r.Reply(nethttp.StatusOK, viewLadder(&ladderView{CallID: id, AttemptID: a.ID}, messages))
}

func viewLadder(v *ladderView, messages []engine.SIPMessage) *ladderView {
	v.Messages, v.Drawing = make([]messageView, len(messages)), ladder.Draw(messages)
	first := 0 // of the leg
	for i, m := range messages {
		if i > 0 && m.Leg != messages[i-1].Leg {
			first = i
		}
		v.Messages[i] = messageView{m, ladder.Title(m), ladder.Explain(m, messages[first:i])}
	}
	return v
}

// testTrunk places one call by the trunk of the path and no other one.
func (s *Server) testTrunk(r *wire.Request) error {
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
			return engine.Conflict("trunk_inactive", "The trunk is inactive; activate it to call by it.")
		default:
			reply, err := s.Calls.Dialout(r.Ctx(), cmd)
			if err != nil {
				return err
			}
			r.HTTP.Response.Header.Set("Location", "/api/v1/calls/"+string(reply.CallID))
			return r.Reply(nethttp.StatusCreated, reply)
		}
	}
	return engine.NotFound("trunk_not_found", "There is no such trunk.")
}
