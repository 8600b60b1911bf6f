package calls

import (
	nethttp "net/http"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/http/form"
	"dialler/http/wire"
)

// transferView is the outcome of a transfer.
type transferView struct {
	Kind        string                 `json:"kind"`
	To          string                 `json:"to"`
	RequestedBy string                 `json:"requested_by"`
	Result      attempt.TransferResult `json:"result"`
	SIPCode     int                    `json:"sip_code,omitempty"`
	RequestedAt time.Time              `json:"requested_at"`
	AnsweredAt  *time.Time             `json:"answered_at"`
	EndedAt     *time.Time             `json:"ended_at"`
}

func viewTransfer(t *attempt.Transfer) *transferView {
	if t == nil {
		return nil
	}
	return &transferView{Kind: t.Kind, To: t.To, RequestedBy: t.By, Result: t.Result, SIPCode: t.SIPCode,
		RequestedAt: t.RequestedAt, AnsweredAt: t.AnsweredAt, EndedAt: t.EndedAt}
}

// transferCap is the longest accepted target, in bytes.
const transferCap = engine.SIPURICap

// Transfer starts the transfer of a call. The response only says that the target is being called;
// showTransfer reports the outcome.
func (s *API) Transfer(r *wire.Request) error {
	id, err := s.callAccess(r)
	if err != nil {
		return err
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	to := f.Text("to", form.Required, transferCap)
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if err := s.Calls.Transfer(r.Ctx(), id, to); err != nil {
		return err
	}
	return r.Reply(nethttp.StatusAccepted, resultReply{Status: "calling", CallID: id})
}

var errNoTransfer = engine.NotFound("no_transfer", "")

// ShowTransfer shows the state of a call's latest transfer.
func (s *API) ShowTransfer(r *wire.Request) error {
	id, err := s.callAccess(r)
	if err != nil {
		return err
	}
	a, err := s.Calls.Call(r.Ctx(), id)
	if err != nil {
		return err
	}
	if a.Transfer == nil {
		return errNoTransfer
	}
	return r.Reply(nethttp.StatusOK, viewTransfer(a.Transfer))
}
