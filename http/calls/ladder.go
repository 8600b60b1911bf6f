package calls

import (
	nethttp "net/http"
	"strings"

	"dialler/engine"
	"dialler/engine/ladder"
	"dialler/http/wire"
)

// ladderView shows a call's messages on the wire, with explanations.
type ladderView struct {
	CallID    engine.CallID    `json:"call_id"`
	AttemptID engine.AttemptID `json:"attempt_id"`
	Messages  []messageView    `json:"messages"`
	// Drawing is the ladder as text.
	Drawing string `json:"drawing"`
}

type messageView struct {
	engine.SIPMessage
	Title       string `json:"title"`
	Explanation string `json:"explanation"`
}

// ShowLadder shows the SIP messages of a call: JSON, or only the drawing for a client that accepts
// text.
func (s *API) ShowLadder(r *wire.Request) error {
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
