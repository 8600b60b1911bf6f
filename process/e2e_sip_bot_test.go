package process

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/carrier/media"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/sipstack"
)

// sipBot starts a model that is called by SIP and makes it the world's bot; refuses is how many
// addresses before it refuse.
func (w *world) sipBot(b carrier.Behaviour, refuses int) *carrier.Carrier {
	w.t.Helper()
	start := func(b carrier.Behaviour) (*carrier.Carrier, string) {
		m, err := carrier.Start(carrier.Config{Media: true, KeepInvites: true, Profile: []carrier.Behaviour{b}})
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = m.Close() })
		return m, "sip:+4930999999@" + m.Addr()
	}
	var endpoints []string
	for range refuses {
		_, uri := start(carrier.Refusal(503, "", 0))
		endpoints = append(endpoints, uri)
	}
	m, uri := start(b)
	endpoints = append(endpoints, uri)
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10,
		"endpoints": endpoints}).expect(200)
	return m
}

// only waits for the only call of a model.
func only(t *testing.T, m *carrier.Carrier, what string, ok func(carrier.Call) bool) (row carrier.Call) {
	t.Helper()
	eventually(t, what, func() bool {
		rows := m.Ledger().Calls()
		if len(rows) == 1 {
			row = rows[0]
		}
		return len(rows) == 1 && ok(row)
	})
	if len(row.Violations) > 0 {
		t.Errorf("violations: %v", row.Violations)
	}
	return row
}

func over(r carrier.Call) bool { return !r.Live() && !r.EndedAt.IsZero() }

// over waits until a call has ended at its carrier, where the end may arrive later than here.
func (w *world) over(m *carrier.Carrier, id engine.CallID) (row carrier.Call) {
	w.t.Helper()
	leg := string(w.stored(id).ID.Leg(1))
	eventually(w.t, "the call is over at the carrier", func() bool {
		row, _ = m.Ledger().Call(leg)
		return over(row)
	})
	return row
}

func speaking(kind carrier.Kind, talk time.Duration) carrier.Behaviour {
	b := carrier.Behaviour{Kind: kind, Chatter: draw.Exactly(100 * time.Millisecond)}
	if talk > 0 {
		b.Talk = draw.Exactly(talk)
	}
	return b
}

func TestABotBySIPTalksWithTheCalleeAndItsByeEndsTheCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	phone := w.carrier(carrier.Config{Profile: []carrier.Behaviour{speaking(carrier.Human, 0)}, Codecs: []string{"PCMA"}})
	voice := w.sipBot(speaking(carrier.Human, 2*time.Second), 1)
	to := newNumber()
	id := w.dialout(to)
	if c := w.ended(id, engine.OutcomeConnectedNoResult); c.HungUpBy != "bot" {
		t.Errorf("the API shows %+v", c)
	}
	callee, voiceRow := only(t, phone, "the callee's call is over", over), only(t, voice, "the bot's call is over", over)
	if callee.ByeBy != carrier.Caller || voiceRow.ByeBy != carrier.Callee || voiceRow.ByeCode != 200 ||
		voiceRow.AckMissing || callee.AckMissing {
		t.Errorf("callee %+v\nbot %+v", callee, voiceRow)
	}
	for who, r := range map[string]media.Count{"callee": callee.RTP, "bot": voiceRow.RTP} {
		if r.Received < 25 || r.Strange > 0 || r.AudioAt.IsZero() || !r.LastAudioAt.After(r.AudioAt) {
			t.Errorf("the %s hears %+v", who, r)
		}
	}
	a := w.stored(id)
	if len(a.Peers) != 2 || a.Peers[0].SIPCode != 503 || a.Peers[1].State != attempt.PeerOver || a.OpenLeg() ||
		a.Session != engine.SessionID(a.Peers[1].ID) ||
		!inOrder(a.AnsweredAt, a.BotConnectedAt, a.ServedAt, a.BotFirstAudioAt, a.EndedAt) {
		t.Errorf("%+v", a)
	}
	if voiceRow.CallID != string(a.Peers[1].ID) || voiceRow.From.E164() != to {
		t.Errorf("Call-ID %s from %s", voiceRow.CallID, voiceRow.From)
	}
	for _, h := range []string{"X-call_id: " + string(id), "X-attempt_id: " + string(a.ID), "X-to_number: " + to,
		"X-from_number: " + ourNumber, "X-result_token: "} {
		if !strings.Contains(voiceRow.Invite, "\r\n"+h) {
			t.Errorf("the INVITE has no %q:\n%s", h, voiceRow.Invite)
		}
	}
}

// RFC 3261 §22: the user of the bot's address and the bot's token answer a challenge, including the
// BYE's.
func TestABotBySIPMayAskForCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{speaking(carrier.Human, time.Second)}})
	voice, err := carrier.Start(carrier.Config{Media: true, Profile: []carrier.Behaviour{speaking(carrier.Human, 0)},
		Credentials: &carrier.Credentials{Username: "anna", Password: "a token", Algorithms: []string{"SHA-256"}, WWW: true,
			ByeToo: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = voice.Close() })
	put := func(token string) {
		w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10,
			"endpoints": []string{"sip:anna@" + voice.Addr()}, "auth_token": token}).expect(200)
	}
	put("a token")
	w.ended(w.dialout(newNumber()), engine.OutcomeConnectedNoResult)
	if r := only(t, voice, "the bot's call is over", over); r.ByeBy != carrier.Caller || r.AnsweredAt.IsZero() {
		t.Errorf("%+v", r)
	}
	put("another")
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeAbandoned)
	if a := w.stored(id); a.Cause != engine.AbandonCapacityLoss || len(a.Peers) != 1 || a.Peers[0].SIPCode != 403 {
		t.Errorf("%s %+v", a.Cause, a.Peers)
	}
}

func TestACalleeWhoHangsUpEndsTheBotsLeg(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	callee := speaking(carrier.Human, time.Second)
	callee.Digits = "7"
	phone := w.carrier(carrier.Config{Profile: []carrier.Behaviour{callee}})
	voice := w.sipBot(speaking(carrier.Human, 0), 0)
	id := w.dialout(newNumber())
	if c := w.ended(id, engine.OutcomeConnectedNoResult); c.HungUpBy != "callee" {
		t.Errorf("the API shows %+v", c)
	}
	only(t, phone, "the callee's call is over", over)
	if r := only(t, voice, "the bot's call is over", over); r.ByeBy != carrier.Caller ||
		!strings.Contains(r.ByeReason, "cause=16") {
		t.Errorf("%+v", r)
	}
	eventually(t, "the bot's leg is stored as over, and the number is free",
		func() bool { a := w.stored(id); return !a.OpenLeg() })
}

func TestABotBySIPThatRefusesIsAnAbandonedCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	phone := w.carrier(carrier.Config{Profile: []carrier.Behaviour{speaking(carrier.Human, 0)}})
	w.sipBot(carrier.Refusal(486, "", 17), 1)
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeAbandoned)
	if a := w.stored(id); a.Cause != engine.AbandonCapacityLoss || len(a.Peers) != 2 || a.OpenLeg() {
		t.Errorf("%s %+v", a.Cause, a.Peers)
	}
	if r := only(t, phone, "the callee heard the message", over); r.RTP.AudioAt.IsZero() {
		t.Errorf("%+v", r.RTP)
	}
}

func TestNoLegOfABotBySIPOutlivesARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{}}, 0)
	phone := w.carrier(carrier.Config{Profile: []carrier.Behaviour{speaking(carrier.Human, 0)}})
	voice := w.sipBot(speaking(carrier.Human, 0), 0)
	id := w.dialout(newNumber())
	eventually(t, "the bot has the call", func() bool { return w.call(id).State == "connected" })
	only(t, voice, "the bot has its ACK", func(r carrier.Call) bool { return !r.AckAt.IsZero() })
	w.restart()
	for who, m := range map[string]*carrier.Carrier{"callee": phone, "bot": voice} {
		if r := only(t, m, "the "+who+" is hung up", over); r.ByeBy != carrier.Caller {
			t.Errorf("%s: %+v", who, r)
		}
	}
	w.ended(id, engine.OutcomeLost)
	eventually(t, "both legs are stored as over", func() bool { a := w.stored(id); return !a.OpenLeg() })
}

func TestABotHasItsCallHandedOverToAPersonBySIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	phone := w.carrier(carrier.Config{Profile: []carrier.Behaviour{speaking(carrier.Human, 0)}})
	person, err := carrier.Start(carrier.Config{Media: true, KeepInvites: true,
		Profile: []carrier.Behaviour{speaking(carrier.Human, 2*time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	target := "sip:+4930777777@" + person.Addr()
	to := newNumber()
	id := w.campaignCall(to, map[string]any{"transfer_targets": []string{target}})
	path := "/api/v1/calls/" + string(id) + "/transfer"
	token := w.session(id, "it talks", func(s bot.Session) bool { return s.FramesOut > 0 }).Parameters["result_token"]
	if code := w.send("POST", path, map[string]any{"to": "sip:+4930777778@" + person.Addr()}, "Authorization",
		"Bearer "+token).expect(403).code(); code != "transfer_not_allowed" {
		t.Error(code)
	}
	w.send("POST", path, map[string]any{"to": target}, "Authorization", "Bearer "+token).expect(202)
	eventually(t, "callee and person are connected", func() bool {
		var tr struct{ Result attempt.TransferResult }
		w.send("GET", path, nil, "Authorization", "Bearer "+token).expect(200).into(&tr)
		return tr.Result == attempt.TransferBridged
	})
	w.session(id, "the bot is off", func(s bot.Session) bool { return !s.EndedAt.IsZero() })
	callee, desk := only(t, phone, "the callee's call is over", over), only(t, person, "the person's call is over", over)
	if callee.ByeBy != carrier.Caller || desk.ByeBy != carrier.Callee || desk.From.E164() != to ||
		strings.Contains(desk.Invite, "X-result_token") {
		t.Errorf("callee %+v\nperson %+v", callee, desk)
	}
	for who, r := range map[string]media.Count{"callee": callee.RTP, "person": desk.RTP} {
		if r.Received < 25 || r.Strange > 0 || r.AudioAt.IsZero() || r.Lost > 5 {
			t.Errorf("the %s hears %+v", who, r)
		}
	}
	eventually(t, "the attempt is over", func() bool { return w.stored(id).State == attempt.Ended })
	a := w.stored(id)
	if tr := a.Transfer; tr == nil || tr.Result != attempt.TransferBridged || tr.To != target || tr.EndedAt == nil ||
		a.HungUpBy != engine.PartyTarget || !a.WasConnected() {
		t.Errorf("%+v, hung up by %s", tr, a.HungUpBy)
	}
}

func TestACallOutsideCampaignsIsHandedOverToWhomItsRequestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	phone := w.carrier(carrier.Config{Profile: []carrier.Behaviour{speaking(carrier.Human, 0)}})
	// The person stays until the callee has begun to speak again.
	person, err := carrier.Start(carrier.Config{Media: true,
		Profile: []carrier.Behaviour{speaking(carrier.Human, 3*time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var rep campaign.DialoutReply
	w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber(),
		"transfer_targets": []string{"sip:*@" + person.Addr()}}).expect(201).into(&rep)
	path := "/api/v1/calls/" + string(rep.CallID) + "/transfer"
	token := w.session(rep.CallID, "it talks",
		func(s bot.Session) bool { return s.FramesOut > 0 }).Parameters["result_token"]
	w.send("POST", path, map[string]any{"to": "+4930777777"}, "Authorization", "Bearer "+token).expect(403)
	w.send("POST", path, map[string]any{"to": "sip:desk@" + person.Addr()}, "Authorization", "Bearer "+token).expect(202)
	callee, desk := only(t, phone, "the callee's call is over", over), only(t, person, "the person's call is over", over)
	if callee.ByeBy != carrier.Caller || desk.ByeBy != carrier.Callee || desk.RTP.AudioAt.IsZero() {
		t.Errorf("callee %+v\nperson %+v", callee, desk)
	}
	eventually(t, "the attempt is over", func() bool { return w.stored(rep.CallID).State == attempt.Ended })
	if tr := w.stored(rep.CallID).Transfer; tr == nil || tr.Result != attempt.TransferBridged {
		t.Errorf("%+v", tr)
	}
}

func TestABotBySIPHandsItsCallOverByRefer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	phone := w.carrier(carrier.Config{Profile: []carrier.Behaviour{speaking(carrier.Human, 0)}})
	person, err := carrier.Start(carrier.Config{Media: true,
		Profile: []carrier.Behaviour{speaking(carrier.Human, time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	target := "+4930777777@" + person.Addr()
	voice := startSippFile(t, filepath.Join(sipScenarios, "refer-bot.xml"), "-key", "target", target)
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10,
		"endpoints": []string{"sip:bot@127.0.0.1:" + strconv.Itoa(voice.port)}}).expect(200)
	id := w.campaignCall(newNumber(), map[string]any{"transfer_targets": []string{"sip:" + target}})
	only(t, person, "the person's call is over", over)
	if r := only(t, phone, "the callee's call is over", over); r.ByeBy != carrier.Caller {
		t.Errorf("%+v", r)
	}
	voice.satisfied()
	eventually(t, "the attempt is over", func() bool {
		a := w.stored(id)
		return a.State == attempt.Ended && !a.OpenLeg()
	})
	a := w.stored(id)
	if tr := a.Transfer; tr == nil || tr.Result != attempt.TransferBridged || tr.By != "refer" || tr.To != "sip:"+target ||
		a.HungUpBy != engine.PartyTarget {
		t.Errorf("%+v, hung up by %s", tr, a.HungUpBy)
	}
}

// campaignCall dials one number in a campaign of its own and gives the call.
func (w *world) campaignCall(to string, settings map[string]any) (id engine.CallID) {
	w.t.Helper()
	body := map[string]any{"name": "One", "bot_id": ourBot, "concurrency": 1, "number_pool": []string{ourNumber},
		"max_attempts": 1,
		"window":       map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"}}
	for k, v := range settings {
		body[k] = v
	}
	var c struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	w.operator("POST", "/api/v1/campaigns", body).expect(201).into(&c)
	w.operator("POST", "/api/v1/campaigns/"+string(c.ID)+"/contacts",
		map[string]any{"contacts": []map[string]any{{"mobile": to}}})
	w.operator("POST", "/api/v1/campaigns/"+string(c.ID)+"/start", nil).expect(200)
	eventually(w.t, "its call is placed", func() bool {
		open, err := w.p.store.OpenAttempts(context.Background())
		for i := range open {
			if open[i].Campaign == c.ID {
				id = open[i].ID.Call()
			}
		}
		return err == nil && id != ""
	})
	return id
}
