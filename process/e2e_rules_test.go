package process

import (
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
)

// configured is the API's view of a campaign with a Config URL.
type configured struct {
	ID       engine.CampaignID `json:"campaign_id"`
	Status   string
	Failure  string `json:"failure_reason"`
	Settings struct {
		Concurrency int
		MaxAttempts int `json:"max_attempts"`
	}
	External *struct {
		URL, Hash string
		FetchedAt time.Time `json:"fetched_at"`
		Settings  map[string]any
	} `json:"external_config"`
}

func (w *world) addTo(id engine.CampaignID, numbers ...string) answer {
	w.t.Helper()
	var rows []map[string]any
	for _, n := range numbers {
		rows = append(rows, map[string]any{"mobile": n})
	}
	return w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows})
}

func TestACampaignTakesItsSettingsFromItsConfigURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	var served atomic.Value
	var asked atomic.Int32
	served.Store(`{"concurrency": 3, "max_attempts": 1, "retry_on_system": []}`)
	site := httptest.NewServer(nethttp.HandlerFunc(func(rw nethttp.ResponseWriter, _ *nethttp.Request) {
		asked.Add(1)
		_, _ = rw.Write([]byte(served.Load().(string)))
	}))
	defer site.Close()

	id := w.campaign(map[string]any{"config_url": site.URL + "/c.json", "max_attempts": 9})
	w.addTo(id, newNumber(), newNumber()).expect(200)
	var ready struct {
		Ready    bool
		Contacts struct {
			ToDial int `json:"to_dial"`
		}
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/preflight", nil).expect(200).into(&ready)
	if !ready.Ready || ready.Contacts.ToDial != 2 || asked.Load() != 0 {
		t.Errorf("preflight %+v, %d fetches", ready, asked.Load())
	}
	var c configured
	w.act(id, "start").expect(200).into(&c)
	if c.Status != "running" || c.Settings.Concurrency != 3 || c.External == nil || len(c.External.Hash) != 64 ||
		c.External.Settings["max_attempts"] != 1.0 {
		t.Errorf("%+v", c)
	}
	eventually(t, "completed after one attempt each", func() bool {
		w.operator("GET", "/api/v1/campaigns/"+string(id), nil).expect(200).into(&c)
		return c.Status == "completed"
	})
	if n := len(model.Ledger().Calls()); n != 2 || asked.Load() != 1 {
		t.Errorf("%d calls, %d fetches", n, asked.Load())
	}

	// The next run fetches again, and gets an unusable document.
	w.act(id, "restart").expect(200)
	for document, reason := range map[string]string{
		`{"concurrency": 0}`:  "config_url_invalid: ",
		`{"name": "another"}`: "config_url_invalid: ",
		`[]`:                  "config_url_invalid: ",
	} {
		served.Store(document)
		c = configured{}
		w.act(id, "start").expect(200).into(&c)
		if c.Status != "failed" || !strings.HasPrefix(c.Failure, reason) || c.External != nil {
			t.Errorf("%s: %+v", document, c)
		}
		w.act(id, "restart").expect(200)
	}
	site.Close()
	w.act(id, "start").expect(200).into(&c)
	if c.Status != "failed" || !strings.HasPrefix(c.Failure, "config_url_unreachable: ") ||
		strings.Contains(c.Failure, "c.json") {
		t.Errorf("%+v", c)
	}
	w.restart()
	c = configured{}
	w.operator("GET", "/api/v1/campaigns/"+string(id), nil).expect(200).into(&c)
	if c.Status != "failed" || !strings.HasPrefix(c.Failure, "config_url_unreachable: ") {
		t.Errorf("after a restart of the process: %+v", c)
	}
	if n := len(model.Ledger().Calls()); n != 2 {
		t.Errorf("%d calls in all, want those of the first run", n)
	}
}

func TestNobodyIsCalledWhoIsSuppressedOrLivesWhereNoCallsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer}}})
	never, rings, vienna := newNumber(), newNumber(), "+43676123456"
	var put struct{ Added, Known int }
	w.operator("POST", "/api/v1/suppressions", map[string]any{"numbers": []string{never, never},
		"reason": "asked"}).expect(200).into(&put)
	if put.Added != 1 || put.Known != 1 {
		t.Errorf("%+v", put)
	}

	id := w.running(nil)
	for what, a := range map[string]answer{
		"trigger": w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": never}),
		"dialout": w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": never}),
	} {
		if a.expect(409).code() != "suppressed" {
			t.Errorf("%s to a suppressed number: %s", what, a)
		}
	}
	for what, a := range map[string]answer{
		"trigger": w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": vienna}),
		"dialout": w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": vienna}),
	} {
		if a.expect(422).code() != "destination_not_allowed" {
			t.Errorf("%s abroad: %s", what, a)
		}
	}
	var added struct{ Added, Excluded int }
	w.addTo(id, never).expect(200).into(&added)
	if added.Added != 0 || added.Excluded != 1 {
		t.Errorf("added to the list: %+v", added)
	}

	// A ringing call is cancelled when its number is suppressed.
	rep := w.trigger(id, rings, nil)
	leg := string(rep.AttemptID.Leg(1))
	eventually(t, "it rings", func() bool { row, _ := model.Ledger().Call(leg); return row.State == carrier.StateRinging })
	w.crm("POST", "/api/v1/suppressions", map[string]any{"number": rings}).expect(200)
	w.ended(rep.AttemptID.Call(), engine.OutcomeCancelled)
	if row := w.over(model, rep.AttemptID.Call()); row.CancelAt.IsZero() {
		t.Errorf("at the carrier: %+v", row)
	}
	if n := len(model.Ledger().Calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
	w.operator("DELETE", "/api/v1/suppressions/"+never, nil).expect(204)
	w.trigger(id, never, nil)
	eventually(t, "it is called once it is off the list", func() bool { return len(model.Ledger().Calls()) == 2 })
	w.quietly(id)
}

// Limits on calls to a number hold for campaigns and dialouts together, follow the file without a
// restart, and each change of them stands in the audit log.
func TestANumberIsCalledNoMoreOftenThanTheRulesOfItsCountryAllow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.flags.AllowedCountries = []string{"DE", "AT"}
	w.flags.CallFrequency = []string{"DE: 1 conversation in 7d and 3 attempts in 1h"}
	w.restart()
	berlin, vienna := newNumber(), "+43676123456"
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(time.Second)}})
	for _, to := range []string{berlin, vienna} {
		w.ended(w.dialout(to), engine.OutcomeCompleted)
	}
	began := time.Now()
	a := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": berlin}).expect(409)
	if a.code() != "callee_cap" || !strings.Contains(string(a.body), "1 conversations in 7d") {
		t.Errorf("%s", a)
	}
	id := w.running(map[string]any{"always_on": true})
	var rep struct {
		Status, Reason string
		NextEligibleAt time.Time `json:"next_eligible_at"`
	}
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": berlin}).expect(200).into(&rep)
	if in := rep.NextEligibleAt.Sub(began); rep.Status != "queued" || rep.Reason != "callee_cap" ||
		in < 7*24*time.Hour-time.Minute || in > 7*24*time.Hour {
		t.Errorf("%+v", rep)
	}
	w.ended(w.dialout(vienna), engine.OutcomeCompleted) // no rule is for its country

	w.flags.CallFrequency = nil
	if _, err := w.p.Reload(t.Context(), w.flags); err != nil {
		t.Fatal(err)
	}
	w.ended(w.dialout(berlin), engine.OutcomeCompleted)
	w.flags.CallFrequency = []string{"us-regulation-g"}
	if _, err := w.p.Reload(t.Context(), w.flags); err == nil || !strings.Contains(err.Error(), "--call-frequency") {
		t.Errorf("an unknown rule: %v", err)
	}
	var log struct {
		Activity []struct {
			Action  string
			Who     engine.Who
			Changes []struct{ From, To string }
		}
	}
	w.operator("GET", "/api/v1/activity?kinds=change_call_frequency", nil).expect(200).into(&log)
	if len(log.Activity) != 2 || log.Activity[0].Changes[0].To != "none" ||
		log.Activity[1].Changes[0].To != "DE: 1 conversations in 7d and 3 attempts in 1h" {
		t.Errorf("the audit log: %+v", log.Activity)
	}
	if n := len(model.Ledger().Calls()); n != 4 {
		t.Errorf("%d calls", n)
	}
	w.quietly(id)
}

// quietly ends a campaign and waits for its calls.
func (w *world) quietly(id engine.CampaignID) {
	w.t.Helper()
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestAnAbandonedCallerWhoPressesTheOptOutKeyIsNeverCalledAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.flags.OptOutDigit = "9"
	w.restart()
	caller := person(2 * time.Second)
	caller.Digits, caller.Press = "9", draw.Exactly(2200*time.Millisecond)
	inband := caller
	inband.DTMF = carrier.DTMFInband
	to, toned := newNumber(), newNumber() // the second one's phone sends no telephone-event
	w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(to): {caller}, engine.PhoneNumber(toned): {inband}}})
	ids := []engine.CallID{w.dialout(to), w.dialout(toned)}
	// The bot disappears while the phone rings.
	if err := w.bot.Configure(bot.Config{Door: bot.Door{RefuseShare: 1},
		Conversations: []bot.Conversation{conversation(time.Second)}}); err != nil {
		t.Fatal(err)
	}
	for i, number := range []string{to, toned} {
		w.ended(ids[i], engine.OutcomeAbandoned)
		var list struct {
			Suppressions []struct{ Number, Reason string }
			Total        int
		}
		eventually(t, "the number is suppressed", func() bool {
			w.operator("GET", "/api/v1/suppressions?number=%2B"+number[1:], nil).expect(200).into(&list)
			return list.Total == 1
		})
		if x := list.Suppressions[0]; x.Number != number || x.Reason != "opt_out" {
			t.Errorf("%+v", x)
		}
	}
	if err := w.bot.Configure(bot.Config{Conversations: []bot.Conversation{conversation(time.Second)}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bot is back, and the number is refused", func() bool {
		a := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": to})
		if a.code() == "bot_unavailable" {
			return false
		}
		if a.expect(409).code() != "suppressed" {
			t.Errorf("called again: %s", a)
		}
		return true
	})
	w.quiet()
}

func TestAnAnnouncementBeforeTheAnswerMakesARefusalAnInvalidNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{dialoutRing: 3 * time.Second}, time.Second)
	ring := draw.Exactly(2500 * time.Millisecond)
	dead, away, looped, there := newNumber(), newNumber(), newNumber(), newNumber()
	w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(dead):   {{Kind: carrier.Refuse, Code: 480, Early: carrier.EarlySIT, Ring: ring}},
		engine.PhoneNumber(away):   {{Kind: carrier.Refuse, Code: 480, Progress: carrier.EarlyMedia, Ring: ring}},
		engine.PhoneNumber(looped): {{Kind: carrier.NoAnswer, Early: carrier.EarlySIT}},
		engine.PhoneNumber(there):  {{Kind: carrier.Human, Early: carrier.EarlySIT, Ring: ring}},
	}})
	ids := map[string]engine.CallID{}
	for _, number := range []string{dead, away, looped, there} {
		ids[number] = w.dialout(number)
	}
	if c := w.ended(ids[dead], engine.OutcomeInvalidNumber); c.SIPReason != "Announced as out of service" {
		t.Errorf("the API shows %+v", c)
	}
	w.ended(ids[away], engine.OutcomeNoAnswer)
	w.ended(ids[looped], engine.OutcomeInvalidNumber)
	w.ended(ids[there], engine.OutcomeCompleted)
	w.quiet()
}
