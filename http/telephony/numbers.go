package telephony

import (
	"context"
	nethttp "net/http"
	"slices"

	"dialler/engine"
	"dialler/engine/inbound"
	"dialler/engine/numberpool"
	"dialler/http/form"
	"dialler/http/wire"
)

// Numbers: outbound caller IDs and their caps. They are ours, not personal data, but are still kept
// out of the log.

type numberList struct {
	Numbers []numberView `json:"numbers"`
	Total   int          `json:"total"`
}

// numberView is a number's caps and status; its state is the current one, which includes resting.
type numberView struct {
	engine.NumberSettings
	numberpool.Status
	AnswerRate *float64 `json:"answer_rate"`
}

func viewNumber(n engine.NumberSettings, s numberpool.Status, known bool) numberView {
	if known {
		n.State = string(s.State)
	}
	if s.Alarm == "" {
		s.Alarm = numberpool.AlarmNone
	}
	v := numberView{NumberSettings: n, Status: s}
	if s.Ended > 0 {
		rate := float64(s.Answered) / float64(s.Ended)
		v.AnswerRate = &rate
	}
	return v
}

func (s *API) ListNumbers(r *wire.Request) error {
	numbers, err := s.Numbers.Numbers(r.Ctx())
	if err != nil {
		return err
	}
	statuses, err := s.Numbers.NumberStatuses(r.Ctx())
	if err != nil {
		return err
	}
	views := make([]numberView, len(numbers))
	for i, n := range numbers {
		status, known := statuses[n.Number]
		views[i] = viewNumber(n, status, known)
	}
	return r.Reply(nethttp.StatusOK, numberList{Numbers: views, Total: len(views)})
}

func (s *API) PutNumber(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	n := f.ParsePhone("number", r.Param("number"))
	if in := f.Text("number", form.Optional, 32); in != "" && n != "" && in != n.E164() {
		f.Fail("number", "mismatch", "must be the one in the path")
	}
	const most = 1_000_000
	settings := engine.NumberSettings{
		Number:        n,
		ConcurrentCap: f.Within("concurrent_cap", 0, 0, most),
		HourCap:       f.Within("hour_cap", 0, 0, most),
		DayCap:        f.Within("day_cap", 0, 0, most),
		RestSec:       f.Within("rest_s", 0, 0, 86_400),
		AnswerFloor:   f.Within("answer_floor_pct", 0, 0, 100),
		// The dialler sets resting on an active number after use; it cannot be chosen.
		State: f.OneOf("state", "active", "active", "quarantined", "retired"),
	}
	settings.CallbackPolicy = f.OneOf("callback_policy", "", "", "reject", "message", "bot")
	settings.CallbackBot = engine.BotID(f.Text("callback_bot_id", form.Optional, 64))
	settings.CallbackMessage = engine.VoicemailID(f.Text("callback_message_id", form.Optional, 64))
	if settings.CallbackPolicy == string(inbound.Bot) && settings.CallbackBot == "" {
		f.Fail("callback_bot_id", "required", "is needed for the policy bot")
	}
	if err := s.checkCallback(r.Ctx(), &settings, f.Errs); err != nil {
		return err
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	created, err := s.Numbers.PutNumber(r.Ctx(), settings, r.Who())
	if err != nil {
		return err
	}
	return r.Reply(wire.PutStatus(created), settings)
}

// checkCallback refuses a bot or a message for callers that does not exist.
func (s *API) checkCallback(ctx context.Context, n *engine.NumberSettings, errs *form.Errors) error {
	if n.CallbackBot != "" {
		bots, err := s.Bots.Bots(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(bots, func(b engine.Bot) bool { return b.ID == n.CallbackBot }) {
			errs.Add("callback_bot_id", "unknown_value", "does not exist; GET /api/v1/bots lists them")
		}
	}
	return CheckMessage(ctx, s.Messages, n.CallbackMessage, errs)
}

// CheckMessage refuses a message for callers (callback_message_id) that does not exist.
func CheckMessage(ctx context.Context, m Messages, id engine.VoicemailID, errs *form.Errors) error {
	if id == "" {
		return nil
	}
	list, err := m.Voicemails(ctx)
	if err == nil && !slices.ContainsFunc(list, func(v engine.Voicemail) bool { return v.ID == id }) {
		errs.Add("callback_message_id", "unknown_value", "does not exist; GET /api/v1/voicemails lists them")
	}
	return err
}
