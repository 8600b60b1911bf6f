package process

import (
	"fmt"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
)

func TestACampaignIsCreatedFilledStartedPausedResumedAndStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 2*time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(300 * time.Millisecond)}})
	id := w.campaign(map[string]any{"concurrency": 2, "max_attempts": 2})
	d := w.detail(id)
	if d.Status != "draft" || d.Run != 1 || d.Counters.Total != 0 {
		t.Errorf("a new campaign: %+v", d)
	}
	if r := w.act(id, "start").expect(409); r.code() != "preflight_failed" {
		t.Errorf("without contacts: %s", r)
	}
	var rows []any
	for range 8 {
		rows = append(rows, map[string]any{"mobile": newNumber(), "metadata": map[string]any{"first_name": "Ada"}})
	}
	rows = append(rows, rows[0]) // the same number twice is one contact
	var added struct{ Added, Duplicates, Total int }
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": rows}).expect(200).into(&added)
	if added.Added != 8 || added.Duplicates != 1 || added.Total != 8 {
		t.Errorf("added %+v", added)
	}
	for _, action := range []string{"pause", "resume", "stop", "restart", "cancel-restart"} {
		w.act(id, action).expect(409) // a draft can only be started
	}
	w.act(id, "start").expect(200)
	w.act(id, "start").expect(409)
	calls := func() int { return len(model.Ledger().Calls()) }
	eventually(t, "two conversations", func() bool { d := w.detail(id); return d.Live != nil && d.Live.InProgress == 2 })
	var paused detail
	w.act(id, "pause").expect(200).into(&paused)
	if paused.Status != "paused" {
		t.Errorf("%+v", paused)
	}
	placed := 0
	eventually(t, "the live calls finish", func() bool {
		placed = calls() // a call just placed appears a moment after the answer
		return len(model.Ledger().Live()) == 0 && w.detail(id).Counters.Completed == placed
	})
	never(t, model, time.Second, "a paused campaign placed a call", func(carrier.Ledger) bool { return calls() > placed })
	w.act(id, "resume").expect(200)
	eventually(t, "it dials again", func() bool { return calls() > placed && w.detail(id).Live.InProgress == 2 })
	var stopped detail
	w.act(id, "stop").expect(200).into(&stopped)
	if stopped.Status != "completed" || stopped.CompletionReason != "manually_stopped" || !stopped.Draining {
		t.Errorf("stopped: %+v", stopped)
	}
	if r := w.act(id, "restart").expect(409); r.code() != "calls_in_progress" {
		t.Errorf("restart while calls live: %s", r)
	}
	eventually(t, "its conversations finish", func() bool {
		return !w.detail(id).Draining && len(model.Ledger().Live()) == 0
	})
	placed = calls()
	never(t, model, time.Second, "a stopped campaign placed a call", func(carrier.Ledger) bool { return calls() > placed })
	eventually(t, "every result is in", func() bool { d := w.detail(id); return d.Counters.Completed == placed })
	d = w.detail(id)
	if d.Counters.ManuallyStopped != 8-placed || d.Counters.Attempts != placed {
		t.Errorf("%d calls, counters %+v", placed, d.Counters)
	}
	states := map[string]int{}
	for _, c := range w.contacts(id) {
		states[c.Status]++
		if c.Variables["first_name"] != "Ada" {
			t.Errorf("variables %v", c.Variables)
		}
	}
	if states["completed"] != placed || states["manually_stopped"] != 8-placed {
		t.Errorf("the contact list: %v", states)
	}
	var list struct {
		Campaigns []detail
		Total     int
	}
	w.operator("GET", "/api/v1/campaigns", nil).expect(200).into(&list)
	if list.Total != 1 || list.Campaigns[0].Counters.Completed != placed {
		t.Errorf("the list: %+v", list)
	}

	// Restart prepares another run; nothing is dialled before Start.
	w.act(id, "restart").expect(200)
	d = w.detail(id)
	if d.Status != "draft" || d.Run != 2 || d.Counters.Pending != 8 || d.Counters.Attempts != 0 {
		t.Errorf("prepared: %+v", d)
	}
	w.act(id, "cancel-restart").expect(200)
	if d = w.detail(id); d.Status != "completed" || d.Run != 1 || d.Counters.Completed != placed {
		t.Errorf("the earlier run is shown again: %+v", d)
	}
	w.act(id, "restart").expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "run 2 completes", func() bool { return w.detail(id).Status == "completed" })
	if d = w.detail(id); d.Run != 2 || d.Counters.Completed != 8 || d.CompletionReason != "all_contacts_final" ||
		calls() != placed+8 {
		t.Errorf("run 2: %+v, %d calls", d, calls())
	}
	w.restart()
	if again := w.detail(id); again.Run != 2 || again.Counters.Completed != 8 {
		t.Errorf("after a restart of the process: %+v", again)
	}
	eventually(t, "it is completed after a restart of the process, too",
		func() bool { return w.detail(id).Status == d.Status })
	if dup, lap := model.Ledger().DuplicateInvites(), model.Ledger().Overlaps(); len(dup)+len(lap) > 0 {
		t.Errorf("duplicates %v, overlaps %v", dup, lap)
	}
}

func TestADraftIsDeletedAndOneThatRanIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	draft, ran := w.campaign(nil), w.campaign(nil)
	for _, id := range []engine.CampaignID{draft, ran} {
		w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
			map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()}}}).expect(200)
	}
	w.act(ran, "start").expect(200)
	eventually(t, "it completes", func() bool { return w.detail(ran).Status == "completed" })
	w.operator("DELETE", "/api/v1/campaigns/"+string(ran), nil).expect(409)
	w.operator("DELETE", "/api/v1/campaigns/"+string(draft), nil).expect(204)
	w.operator("GET", "/api/v1/campaigns/"+string(draft), nil).expect(404)
	w.operator("POST", "/api/v1/campaigns/"+string(ran)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()}}}).expect(409)
	if campaigns, contacts := w.rows("campaigns"), w.rows("contacts"); campaigns != 1 || contacts != 1 {
		t.Errorf("%d campaigns and %d contacts are stored, want those of the one that ran", campaigns, contacts)
	}
}

func TestTriggersWaitForTheWindowOfAMultiDayCampaignAndForAPausedOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	closed := w.running(map[string]any{"window": closedWindow()})
	opens := time.Now().Add(2 * time.Hour).Truncate(time.Minute)
	rep := w.trigger(closed, newNumber(), nil)
	if rep.Status != "queued" || rep.Reason != "window" || rep.NextEligibleAt == nil ||
		rep.NextEligibleAt.Sub(opens).Abs() > time.Minute {
		t.Errorf("outside the window: %+v, want it queued until %v", rep, opens)
	}
	if d := w.detail(closed); d.Live.Indicator != "outside_window" || d.Live.Constraint != engine.ConstraintWindow {
		t.Errorf("%+v", d.Live)
	}
	paused := w.running(nil)
	w.act(paused, "pause").expect(200)
	to := newNumber()
	if rep = w.trigger(paused, to, nil); rep.Status != "queued" || rep.Reason != "paused" {
		t.Errorf("paused: %+v", rep)
	}
	never(t, model, time.Second, "a call was placed", func(l carrier.Ledger) bool { return len(l.Calls()) > 0 })
	w.act(paused, "resume").expect(200)
	eventually(t, "it is dialled once resumed", func() bool { return w.contact(paused, to).Status == "completed" })
	// A final contact is reopened, with fresh attempts.
	if again := w.trigger(paused, to, map[string]any{"round": 2}); again.ContactID != rep.ContactID {
		t.Errorf("reopened: %+v", again)
	}
	eventually(t, "it is dialled again", func() bool { return len(model.Ledger().To(engine.PhoneNumber(to))) == 2 })
}

func TestRetriesFollowTheSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	busyTwice, gone := newNumber(), newNumber()
	model := w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(busyTwice): {carrier.Busy(), carrier.Busy(), person(50 * time.Millisecond)},
		engine.PhoneNumber(gone):      {carrier.Refusal(404, "", 1)},
	}, Profile: []carrier.Behaviour{{Kind: carrier.Human, Ring: draw.Exactly(time.Millisecond)}}})
	id := w.campaign(map[string]any{"max_attempts": 3, "retry_delay_s": 1})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
		map[string]any{"mobile": busyTwice}, map[string]any{"mobile": gone}}}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "it completes", func() bool { return w.detail(id).Status == "completed" })
	c := w.contact(id, busyTwice)
	if c.Status != "completed" || c.Attempts != 3 || len(c.Trail) != 3 || c.Trail[0].Outcome != "busy" ||
		c.Trail[2].Outcome != "completed" {
		t.Errorf("%+v", c)
	}
	if c := w.contact(id, gone); c.Status != "failed" || c.Attempts != 1 || c.Reason != "invalid_number" {
		t.Errorf("%+v", c)
	}
	rows := model.Ledger().To(engine.PhoneNumber(busyTwice))
	if len(rows) != 3 || rows[1].InviteAt.Sub(rows[0].EndedAt) < 990*time.Millisecond {
		t.Errorf("%d calls; Retry Delay counts from the end of the attempt: %+v", len(rows), rows)
	}
}

// A load balancer only sends the request that creates the first trunk to a process that is ready.
func TestAnEmptyDatabaseIsReadyWithoutATrunk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	warnings := func(a answer) (string, map[string]string) {
		var v struct {
			Status string
			Checks []struct{ Name, Warning, Detail string }
		}
		a.into(&v)
		out := map[string]string{}
		for _, c := range v.Checks {
			if c.Warning != "" {
				out[c.Name] = c.Warning + ": " + c.Detail
			}
		}
		return v.Status, out
	}
	within(t, 10*time.Second, "it is ready", func() bool { return w.send("GET", "/readyz", nil).status == 200 })
	for _, a := range []answer{w.send("GET", "/readyz", nil), w.operator("GET", "/api/v1/health", nil)} {
		if status, w := warnings(a.expect(200)); status != "ready" || len(w) != 1 ||
			w["trunks"] != "no_trunk: no active trunk is configured" {
			t.Errorf("without a trunk: %s", a)
		}
	}
	if got := w.metric(`dialler_check_warning{check="trunks"}`); got != 1 {
		t.Errorf("the warning's metric is %v", got)
	}
	w.trunk("spare", "127.0.0.1", 9, map[string]any{"active": false})
	if _, w := warnings(w.send("GET", "/readyz", nil).expect(200)); w["trunks"] == "" {
		t.Errorf("a trunk that is switched off ends the warning: %v", w)
	}
	w.trunk("spare", "127.0.0.1", 9, map[string]any{"active": true})
	if _, w := warnings(w.send("GET", "/readyz", nil).expect(200)); len(w) != 0 {
		t.Errorf("with a trunk: %v", w)
	}
	if got := w.metric(`dialler_check_warning{check="trunks"}`); got != 0 {
		t.Errorf("the warning's metric is %v with a trunk", got)
	}
}

func TestHealthReadinessAndMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.send("GET", "/healthz", nil).expect(200)
	checks := func(a answer) map[string]bool {
		var v struct {
			Checks []struct {
				Name string
				OK   bool
			}
		}
		a.into(&v)
		out := map[string]bool{}
		for _, c := range v.Checks {
			out[c.Name] = c.OK
		}
		return out
	}
	if c := checks(w.send("GET", "/readyz", nil).expect(200)); !c["trunks"] || !c["database"] {
		t.Errorf("without a trunk: %v", c)
	}
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeCompleted)
	w.quiet()
	for name, want := range map[string]float64{"dialler_attempts_total": 1, "dialler_attempts_ended_total": 1,
		"dialler_legs_sent_total": 1,
		"dialler_answers_total":   1, "dialler_served_total": 1, "dialler_abandoned_total": 0, "dialler_results_total": 1,
		"dialler_live_calls": 0,
		"dialler_seats_held": 0, "dialler_trunk_channels_held": 0, "dialler_number_slots_held": 0,
		"dialler_illegal_events_total": 0,
		"dialler_actor_restarts_total": 0, "dialler_sip_legs_live": 0} {
		eventually(t, fmt.Sprintf("%s is %v", name, want), func() bool { return w.metric(name) == want })
	}
	row := model.Ledger().Calls()[0]
	if got := w.metric("dialler_rtp_packets_sent_total"); got < float64(row.RTP.Received) || row.RTP.Received == 0 {
		t.Errorf("%v RTP packets sent, %d at the carrier", got, row.RTP.Received)
	}
	for _, path := range []string{"/api/openapi.yaml", "/api/openapi.json", "/api/docs"} {
		w.send("GET", path, nil).expect(200)
	}
	w.send("GET", "/api/v1/nothing", nil).expect(404)
	w.send("DELETE", "/api/v1/sip/dialout", nil).expect(405)
}

func TestTheFilterUnansweredFindsWhomTheCounterCountsAlsoFailedContacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	rings, busy := newNumber(), newNumber()
	w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(rings): {{Kind: carrier.NoAnswer, Ring: draw.Exactly(50 * time.Millisecond)}},
		engine.PhoneNumber(busy):  {carrier.Busy()},
	}})
	id := w.campaign(map[string]any{"retry_on_system": []string{"busy"}, "retry_delay_s": 600})
	w.addTo(id, rings, busy).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "both were called", func() bool {
		return w.contact(id, rings).Status == "failed" && w.contact(id, busy).LastResult == "busy"
	})
	find := func(filter string) (list struct {
		Contacts []contactRow
		Total    int
	}) {
		t.Helper()
		w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts?status="+filter, nil).expect(200).into(&list)
		return list
	}
	for filter, want := range map[string]string{"unanswered": rings, "failed": rings, "waiting": busy} {
		if list := find(filter); list.Total != 1 || list.Contacts[0].PhoneNumber != want {
			t.Errorf("%s: %+v, want the one whose call %s",
				filter, list, map[string]string{rings: "rang", busy: "was refused"}[want])
		}
	}
	if n := w.detail(id).Counters.Unanswered; n != find("unanswered").Total {
		t.Errorf("the counter says %d", n)
	}
	w.quietly(id)
}
