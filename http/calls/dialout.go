package calls

import (
	nethttp "net/http"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/http/form"
	"dialler/http/idempotency"
	"dialler/http/wire"
)

// Dial places one call outside campaigns (spec: Dialout; SEMANTICS §10), or stores it for later (202).
func (s *API) Dial(r *wire.Request) error {
	return s.replays.Once(r, "dialout", nethttp.StatusCreated, func(id engine.Idempotency) (any, error) {
		f, err := r.Body()
		if err != nil {
			return nil, err
		}
		to := f.Callee("to_number")
		cmd := campaign.Dialout{
			Bot:         engine.BotID(f.Text("bot_id", form.Required, 64)),
			To:          to.Number,
			From:        f.Phone("from_number"),
			Times:       f.Times(r.Began()),
			Status:      f.StatusCallback(),
			Who:         r.Who(),
			DayCap:      dialoutsPerDay(r),
			Idempotency: id,
			Deadline:    r.Deadline(),
		}
		if s := cmd.Status; s != nil && s.URL == "" {
			cmd.Status = nil // a call that is yet to be has no address to be taken from it
		}
		// spec: "variables and connected_event must not both be sent in one
		// request"; either is the other's alias.
		cmd.Variables = f.Variables("variables", false)
		if f.Has("variables") && f.Has("connected_event") {
			const why = "must not be sent together with its alias; send only one of variables and connected_event"
			f.Fail("variables", "mutually_exclusive", why)
			f.Fail("connected_event", "mutually_exclusive", why)
		} else if f.Has("connected_event") {
			cmd.Variables = f.Variables("connected_event", false)
		}
		cmd.Transfers = attempt.TransferRules{Allowed: f.Words("transfer_targets", attempt.TransferTargetsCap),
			Limit: f.Whole("transfer_limit", 1)}
		f.Done()
		if wrong := campaign.ValidateTransfers(cmd.Transfers); len(wrong) > 0 {
			f.Errs.Merge(engine.Invalid("validation_failed", "", wrong...))
		}
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
		if err := wire.MayCall(s.Destinations, "to_number", to); err != nil {
			return nil, err
		}
		reply, err := s.Calls.Dialout(r.Ctx(), cmd)
		if err != nil {
			return nil, s.held(r, cmd.To, err)
		}
		r.HTTP.Response.Header.Set("Location", "/api/v1/calls/"+string(reply.CallID))
		if cmd.Times.NotBefore != nil {
			return idempotency.Success{Status: nethttp.StatusAccepted, Body: reply}, nil
		}
		return reply, nil
	})
}

// Cancel ends a dialout that waits for its time.
func (s *API) Cancel(r *wire.Request) error {
	a, err := s.visibleCall(r)
	if err != nil {
		return err
	}
	if err := s.Calls.CancelDialout(r.Ctx(), campaign.CancelDialout{Call: a.ID.Call(), Who: r.Who()}); err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, resultReply{Status: "ok", CallID: a.ID.Call()})
}

// held adds to the refusal of a held number the reason and the end of the hold.
func (s *API) held(r *wire.Request, n engine.PhoneNumber, err error) error {
	if engine.ErrorCode(err) != engine.CodeNumberHeld {
		return err
	}
	h, missing := s.Calls.Hold(r.Ctx(), n)
	if h == nil || missing != nil {
		return err // it has ended meanwhile, or only this process knows of it
	}
	e := engine.Conflict(engine.CodeNumberHeld, h.Why())
	if h.Until != nil {
		e.Until, e.RetryAfter = *h.Until, h.Until.Sub(s.Now())
	}
	return e
}

// dialoutsPerDay returns the requesting key's daily cap; users have none.
func dialoutsPerDay(r *wire.Request) int {
	if r.Key == nil {
		return 0
	}
	return r.Key.DialoutsPerDay
}
