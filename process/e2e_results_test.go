package process

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
)

// silently makes the bot post no results by itself.
func (w *world) silently(talk time.Duration) {
	w.t.Helper()
	c := conversation(talk)
	c.Result = &bot.Result{None: true}
	if err := w.bot.Configure(bot.Config{Conversations: []bot.Conversation{c}}); err != nil {
		w.t.Fatal(err)
	}
}

// result posts a result with a call's own token.
func (w *world) result(id engine.CallID, token string, body any) answer {
	w.t.Helper()
	return w.send("POST", "/api/v1/calls/"+string(id)+"/result", body, "Authorization", "Bearer "+token)
}

func TestAResultIsTakenWithTheCallsTokenWheneverItComes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.silently(300 * time.Millisecond)
	id, other := w.dialout(newNumber()), w.dialout(newNumber())
	w.ended(id, engine.OutcomeConnectedNoResult)
	w.ended(other, engine.OutcomeConnectedNoResult)
	params := func(id engine.CallID) map[string]string {
		return w.session(id, "begun", func(s bot.Session) bool { return s.Parameters != nil }).Parameters
	}
	token := params(id)["result_token"]
	if got := params(id)["result_url"]; got != w.p.URL()+"/api/v1/calls/"+string(id)+"/result" {
		t.Errorf("result_url %s", got)
	}
	interested := map[string]any{
		"disposition": "interested",
		"variables":   map[string]any{"plan": "gold"},
		"mood":        "good",
	}

	// A client without the token of this very call learns nothing.
	for _, r := range []answer{
		w.result(id, params(other)["result_token"], interested), w.result(id, "x", interested),
		w.send("POST", "/api/v1/calls/"+string(id)+"/result", interested),
		w.result(engine.CallID("CA"+strings.Repeat("1", 32)), token, interested), w.result("CA1", token, interested),
		w.send("POST", "/api/v1/calls/"+string(id)+"/result", interested, "X-API-Key", "vx_"+strings.Repeat("A", 32)),
	} {
		if r.status != 401 || r.code() != "unauthorized" {
			t.Errorf("without the token: %s", r)
		}
	}
	w.send("POST", "/api/v1/calls/"+string(id)+"/result", interested,
		"X-API-Key", w.newKey(map[string]any{"scopes": []string{"read"}})).
		expect(403)
	w.result(id, token, `{"disposition":`).expect(422)
	w.result(id, token, map[string]any{"disposition": 5}).expect(422)
	w.result(id, token, map[string]any{"callback": map[string]any{"requested": true, "at": "tomorrow"}}).expect(422)
	if a := w.stored(id); a.Result != nil || a.Outcome != engine.OutcomeConnectedNoResult {
		t.Fatalf("a refused result left %+v", a.Result)
	}

	w.result(id, token, interested).expect(200)
	if c := w.call(id); c.Outcome != engine.OutcomeCompleted || c.Disposition != "interested" {
		t.Errorf("after its result: %+v", c)
	}
	w.restart() // the token survives the restart
	w.result(id, token, map[string]any{"disposition": "sold", "do_not_call": true}).expect(200)
	a := w.stored(id)
	if a.Outcome != engine.OutcomeCompleted || a.Result.Disposition != "sold" || a.Result.Revision != 1 ||
		!a.Result.DoNotCall {
		t.Errorf("the newest result stands: %+v", a.Result)
	}
	// do_not_call applies to the whole installation.
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": a.To.E164()})
	if r.status != 409 || r.code() != "suppressed" {
		t.Errorf("a dialout to a number that asked not to be called: %s", r)
	}
	w.send("POST", "/api/v1/calls/"+string(other)+"/result", interested,
		"X-API-Key", w.newKey(map[string]any{"scopes": []string{"results"}})).
		expect(200)
	if c := w.call(other); c.Outcome != engine.OutcomeCompleted {
		t.Errorf("a result with an API key: %+v", c)
	}
	w.quiet()
}

func TestALateResultCompletesTheContact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.silently(300 * time.Millisecond)
	crm := newIntegrator(t)
	w.hook(crm.URL, nil)
	id := w.running(map[string]any{"result_timeout_s": 1, "retry_on_system": []string{}})
	to := newNumber()
	var rep campaign.TriggerReply
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to,
		"metadata": map[string]any{
			"first_name": "Ada",
			"age":        36,
			"vip":        true,
			"tags":       []any{"a", 1},
		}}).expect(200).into(&rep)
	if rep.Status != "dialled" || rep.AttemptID == "" || rep.CampaignID != id {
		t.Fatalf("with room for it, a trigger is dialled: %+v", rep)
	}
	call := rep.AttemptID.Call()
	s := w.session(call, "over", func(s bot.Session) bool { return !s.EndedAt.IsZero() })
	for name, want := range map[string]string{"first_name": "Ada", "age": "36", "vip": "true", "tags": `["a",1]`,
		"to_number":   to,
		"from_number": ourNumber, "campaign_id": string(id), "contact_id": string(rep.ContactID),
		"attempt_id": string(rep.AttemptID),
		"call_id":    string(call), "run": "1"} {
		if s.Parameters[name] != want {
			t.Errorf("the bot got %s = %q, want %q", name, s.Parameters[name], want)
		}
	}
	eventually(t, "the result timeout fails the contact", func() bool { return w.contact(id, to).Status == "failed" })
	if c := w.contact(id, to); c.Reason != string(engine.OutcomeConnectedNoResult) || c.Attempts != 1 {
		t.Errorf("%+v", c)
	}
	w.result(call, s.Parameters["result_token"], map[string]any{"disposition": "interested"}).expect(200)
	if c := w.contact(id, to); c.Status != "completed" || c.LastResult != "interested" ||
		c.Trail[0].Outcome != engine.OutcomeCompleted {
		t.Errorf("after a late result: %+v", c)
	}
	if d := w.detail(id); d.Counters.Completed != 1 || d.Counters.Failed != 0 {
		t.Errorf("counters %+v", d.Counters)
	}
	// An integration that goes by sequence receives the outcome once it is final.
	var sequence int64
	for _, m := range []struct{ kind, says string }{
		{"attempt.ended", `"outcome":null,"awaiting_result":true`},
		{"result.timed_out", `"last_outcome":"connected_no_result"`},
		{"result.stored", `"outcome":"completed"`},
	} {
		var told *toldOf
		eventually(t, m.kind+" is told", func() bool { told = crm.first(m.kind, string(id)); return told != nil })
		var body struct{ Data struct{ Sequence int64 } }
		if err := json.Unmarshal(told.Body, &body); err != nil || !strings.Contains(string(told.Body), m.says) ||
			body.Data.Sequence <= sequence {
			t.Errorf("%s after %d: %s", m.kind, sequence, told.Body)
		}
		sequence = body.Data.Sequence
	}
}

// Two results that come at once are both stored: what the first says of the number stands.
func TestAResultOnTheSocketIsNotLostToTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	answers := make(chan string, 2)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{}
		c, err := up.Upgrade(rw, r, nil)
		if err != nil {
			return // a question whether it is there
		}
		defer func() { _ = c.Close() }()
		var both []byte
		for _, result := range []string{`{"disposition":"wrong","do_not_call":true}`, `{"disposition":"sold"}`} {
			text := `{"event":"result","result":` + result + `}`
			both = append(append(both, 0x81, byte(len(text))), text...) // a text frame (RFC 6455 5.2)
		}
		for {
			var f struct {
				Event  string
				Result struct{ Status string }
			}
			if c.ReadJSON(&f) != nil {
				return
			}
			switch f.Event {
			case "start":
				if _, err := c.NetConn().Write(both); err != nil {
					return
				}
			case "result":
				if answers <- f.Result.Status; len(answers) == cap(answers) {
					return
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	w.endpoints("ws" + strings.TrimPrefix(s.URL, "http"))
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeCompleted); c.Disposition != "sold" {
		t.Errorf("the later result: %+v", c)
	}
	for range cap(answers) {
		if status := <-answers; status != "ok" {
			t.Errorf("a result was answered %s", status)
		}
	}
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": w.stored(id).To.E164()})
	if r.status != 409 || r.code() != "suppressed" {
		t.Errorf("a dialout to a number that asked not to be called: %s", r)
	}
	w.quiet()
}

// detail is the response to GET /api/v1/campaigns/{id}.
type detail struct {
	Status           string
	CompletionReason string `json:"completion_reason"`
	Draining         bool
	Run              int
	Counters         campaign.Counters
	Live             *campaign.Live
}

func (w *world) detail(id engine.CampaignID) (d detail) {
	w.t.Helper()
	w.operator("GET", "/api/v1/campaigns/"+string(id), nil).expect(200).into(&d)
	return d
}

func TestABotEndsItsCallThroughTheTwilioRoute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0) // the bot never closes its socket
	model := w.carrier(
		carrier.Config{
			Script:  map[engine.PhoneNumber][]carrier.Behaviour{},
			Profile: []carrier.Behaviour{person(50 * time.Millisecond)},
		},
	)
	hangUp := func(id engine.CallID, account, token, form string) answer {
		t.Helper()
		return w.send("POST", "/2010-04-01/Accounts/"+account+"/Calls/"+string(id)+".json", form,
			"Content-Type", "application/x-www-form-urlencoded",
			"Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(account+":"+token)))
	}
	twilioCode := func(a answer) int {
		var e struct{ Code int }
		a.into(&e)
		return e.Code
	}
	id := w.dialout(newNumber())
	s := w.session(id, "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	if r := hangUp(id, ourAccount, "wrong", "Status=completed").expect(401); twilioCode(r) != 20003 {
		t.Errorf("a wrong token: %s", r)
	}
	hangUp(id, "AC"+strings.Repeat("0", 32), ourToken, "Status=completed").expect(401)
	hangUp(id, ourAccount, ourToken, "Status=busy").expect(400)
	if row, ok := model.Ledger().Call(string(w.stored(id).ID.Leg(1))); !ok || row.State != carrier.StateAnswered {
		t.Fatalf("a refused hang-up ended the call: %+v", row)
	}
	hangUp(id, s.Account, ourToken, "Status=completed").expect(200)
	if c := w.ended(id, engine.OutcomeCompleted); c.HungUpBy != "bot" {
		t.Errorf("%+v", c)
	}
	row := w.over(model, id)
	if row.ByeBy != carrier.Caller || len(row.Violations) > 0 {
		t.Errorf("at the carrier: %+v", row)
	}
	if r := hangUp(id, ourAccount, ourToken, "Status=completed").expect(404); twilioCode(r) != 20404 {
		t.Errorf("a call that is over: %s", r)
	}
	if r := hangUp("CA"+engine.CallID(strings.Repeat("2", 32)), ourAccount, ourToken,
		"Status=completed").expect(404); twilioCode(
		r,
	) != 20404 {
		t.Errorf("a call that never was: %s", r)
	}

	// A ringing leg is cancelled.
	ringing := newNumber()
	if err := model.Configure(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer}}}); err != nil {
		t.Fatal(err)
	}
	id = w.dialout(ringing)
	eventually(t, "it rings", func() bool { return w.call(id).State == "ringing" })
	hangUp(id, ourAccount, ourToken, "Status=canceled").expect(200)
	w.ended(id, engine.OutcomeCancelled)
	row = w.over(model, id)
	if row.FinalCode != 487 || row.CancelAt.IsZero() {
		t.Errorf("at the carrier: %+v", row)
	}
	w.quiet()
}

// A result is awaited until a restart ends the wait, which is reported; one that comes while the
// restart is prepared is lost neither to its own run nor to the prepared one.
func TestARestartEndsTheWaitForAResultAndLosesNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.silently(300 * time.Millisecond)
	crm := newIntegrator(t)
	w.hook(crm.URL, nil)
	id := w.running(map[string]any{"result_timeout_s": 600, "max_attempts": 1, "retry_on_system": []string{}})
	to, path := newNumber(), "/api/v1/campaigns/"+string(id)
	var rep campaign.TriggerReply
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to}).expect(200).into(&rep)
	call := rep.AttemptID.Call()
	type shown struct {
		Outcome  *string
		Awaiting bool `json:"awaiting_result"`
	}
	var one shown
	eventually(t, "the conversation is over", func() bool {
		w.operator("GET", "/api/v1/calls/"+string(call), nil).expect(200).into(&one)
		return one.Awaiting
	})
	var list struct{ Calls []shown }
	w.operator("GET", "/api/v1/calls?campaign_id="+string(id), nil).expect(200).into(&list)
	if one.Outcome != nil || len(list.Calls) != 1 || list.Calls[0].Outcome != nil || !list.Calls[0].Awaiting {
		t.Errorf("an outcome is shown before it is final: %+v, %+v", one, list)
	}
	if c := w.contact(id, to); c.Status != "connected" || c.LastResult != "" {
		t.Errorf("its contact: %+v", c)
	}

	w.act(id, "stop").expect(200)
	eventually(
		t,
		"the run is over",
		func() bool { return w.detail(id).Status == "completed" && !w.detail(id).Draining },
	)
	w.operator("POST", path+"/restart", map[string]any{"only_unreached": true}).expect(200)
	var told *toldOf
	eventually(
		t,
		"the end of the wait is told",
		func() bool { told = crm.first("result.timed_out", string(id)); return told != nil },
	)
	if b := string(told.Body); !strings.Contains(b, `"reason":"restarted"`) ||
		!strings.Contains(b, string(rep.AttemptID)) {
		t.Errorf("it is told as %s", b)
	}
	w.operator("GET", "/api/v1/calls/"+string(call), nil).expect(200).into(&one)
	if one.Outcome == nil || *one.Outcome != string(engine.OutcomeConnectedNoResult) || one.Awaiting {
		t.Errorf("after the restart: %+v", one)
	}
	if c := w.contact(id, to); c.Status != "failed" {
		t.Errorf("a run for the unreached takes it along as %s", c.Status)
	}

	w.crm("POST", "/api/v1/calls/"+string(call)+"/result", map[string]any{"disposition": "sold"}).expect(200)
	if c := w.contact(id, to); c.Status != "completed" || c.LastResult != "sold" {
		t.Errorf("in the prepared run: %+v", c)
	}
	w.act(id, "cancel-restart").expect(200)
	if c := w.contact(id, to); c.Status != "completed" || c.LastResult != "sold" {
		t.Errorf("in the run that is shown again: %+v", c)
	}
	if d := w.detail(id); d.Counters.Completed != 1 || d.Counters.Failed != 0 {
		t.Errorf("counters %+v", d.Counters)
	}
	w.quiet()
}

// A bot posts once: a result that cannot be stored now is kept, a refused one is not.
func TestAResultIsKeptWhenItsOwnerCannotBeAsked(t *testing.T) {
	t.Parallel()
	f := func(err error, want bool) {
		t.Helper()
		if got := deferred(err); got != want {
			t.Errorf("%v: kept %v", err, got)
		}
	}
	f(nil, false)
	f(errors.New("a connection was lost"), true)
	f(engine.Unavailable("database_unavailable", "", time.Second), true)
	f(engine.Unavailable("owner_lost", "", time.Second), true)
	f(engine.Unavailable("timeout", "", time.Second), true)
	f(engine.Unavailable("suppression_unconfirmed", "", time.Second), false) // stored; the bot asks again
	f(engine.NotFound("call_not_found", ""), false)
	f(engine.Conflict("person_erased", ""), false)
	f(engine.Invalid("invalid_result", ""), false)
}
