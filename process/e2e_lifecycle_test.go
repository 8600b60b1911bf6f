package process

import (
	"fmt"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// lifecycle is what the lifecycle tests read of a campaign.
type lifecycle struct {
	ID       engine.CampaignID `json:"campaign_id"`
	Status   string
	Version  int64
	Run      int
	Failure  string `json:"failure_reason"`
	Settings struct {
		Name        string
		Concurrency int
		MaxAttempts int      `json:"max_attempts"`
		Numbers     []string `json:"number_pool"`
	}
	Prepared *struct {
		Run           int
		OnlyUnreached bool `json:"only_unreached"`
		By            struct{ Name string }
	}
	Counters struct{ Total, Pending, Connected, Completed, Failed, Excluded, Attempts int }
}

func (w *world) lifecycle(id engine.CampaignID) (c lifecycle) {
	w.t.Helper()
	w.operator("GET", "/api/v1/campaigns/"+string(id), nil).expect(200).into(&c)
	return c
}

type activityRow struct {
	Action  string
	Who     struct{ Name, From string }
	Run     int
	Other   string `json:"campaign_id"`
	Changes []struct {
		Field    string
		From, To any
	}
}

func (w *world) activity(id engine.CampaignID, query string) (rows []activityRow, actions string) {
	w.t.Helper()
	var list struct{ Activity []activityRow }
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/activity"+query, nil).expect(200).into(&list)
	for _, a := range list.Activity {
		actions += " " + a.Action
	}
	return list.Activity, actions
}

func TestACampaignIsEditedClonedAndRestartedAndItsHistoryTellsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	var numbers []string
	script := map[engine.PhoneNumber][]carrier.Behaviour{}
	for i := range 6 {
		n := newNumber()
		numbers = append(numbers, n)
		if i >= 3 { // these succeed on the second call only
			script[engine.PhoneNumber(n)] = []carrier.Behaviour{{Kind: carrier.Refuse, Code: 603},
				person(100 * time.Millisecond)}
		}
	}
	model := w.carrier(carrier.Config{Script: script, Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.campaign(map[string]any{"name": "Spring", "concurrency": 1, "max_attempts": 1})
	path := "/api/v1/campaigns/" + string(id)
	var rows []any
	for i, n := range numbers {
		rows = append(rows, map[string]any{"mobile": n, "metadata": map[string]any{"place": fmt.Sprint(i)}})
	}
	w.operator("POST", path+"/contacts", map[string]any{"contacts": rows}).expect(200)
	out := newNumber()
	w.operator("POST", path+"/contacts", map[string]any{"contacts": []any{map[string]any{"mobile": out}}}).expect(200)
	w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "mobile": out}).expect(200)

	// Edit: with the version, in a draft and while paused.
	if r := w.operator("PATCH", path, map[string]any{"concurrency": 2}).expect(422); r.code() != "validation_failed" {
		t.Errorf("without a version: %s", r)
	}
	w.operator("PATCH", path, map[string]any{"version": 1, "concurrency": 2, "name": "Spring 2"}).expect(200)
	stale := w.operator("PATCH", path, map[string]any{"version": 1, "concurrency": 5}).expect(409)
	var conflict struct{ Current struct{ Version int64 } }
	if stale.into(&conflict); stale.code() != "version_conflict" || conflict.Current.Version != 2 {
		t.Errorf("an old version: %s", stale)
	}
	w.act(id, "start").expect(200)
	if r := w.operator("PATCH", path, map[string]any{"version": 2,
		"concurrency": 5}).expect(409); r.code() != "illegal_state" {
		t.Errorf("while running: %s", r)
	}
	eventually(t, "run 1 completes", func() bool { return w.detail(id).Status == "completed" })
	one := w.lifecycle(id)
	if one.Counters.Connected != 3 || one.Counters.Failed != 3 || one.Counters.Excluded != 1 ||
		one.Settings.Name != "Spring 2" {
		t.Fatalf("run 1: %+v", one)
	}

	// Restart for the unreached, edited before it starts; cancelled once.
	w.operator("POST", path+"/restart", map[string]any{"only_unreached": true}).expect(200)
	p := w.lifecycle(id)
	if p.Status != "draft" || p.Run != 2 || p.Counters.Pending != 3 || p.Prepared == nil || p.Prepared.Run != 2 ||
		!p.Prepared.OnlyUnreached || p.Prepared.By.Name != FirstAdminEmail {
		t.Errorf("prepared: %+v", p)
	}
	if r := w.operator("PATCH", path, map[string]any{"version": p.Version,
		"name": "x"}).expect(409); r.code() != "field_locked" {
		t.Errorf("the name once run: %s", r)
	}
	if r := w.operator("DELETE", path, nil).expect(409); r.code() != "campaign_was_run" {
		t.Errorf("delete a prepared run: %s", r)
	}
	w.operator("PATCH", path, map[string]any{"version": p.Version, "max_attempts": 4}).expect(200)
	w.act(id, "cancel-restart").expect(200)
	if c := w.lifecycle(id); c.Status != "completed" || c.Run != 1 || c.Settings.MaxAttempts != 1 ||
		c.Counters != one.Counters || c.Prepared != nil {
		t.Errorf("cancelled: %+v, was %+v", c, one)
	}
	w.operator("POST", path+"/restart", map[string]any{"only_unreached": true}).expect(200)
	dials := len(model.Ledger().Calls())
	w.act(id, "start").expect(200)
	eventually(t, "run 2 completes", func() bool { return w.detail(id).Status == "completed" })
	if n := len(model.Ledger().Calls()) - dials; n != 3 {
		t.Errorf("%d dials in run 2, want those of the unreached", n)
	}

	// Clone, in any state.
	r := w.operator("POST", path+"/clone", nil).expect(201)
	var copied lifecycle
	r.into(&copied)
	if r.header.Get("Location") != "/api/v1/campaigns/"+string(copied.ID) || copied.Status != "draft" ||
		copied.Settings.Name != "Spring 2 (copy)" ||
		copied.Counters.Pending != 6 || copied.Counters.Excluded != 1 || copied.Run != 1 {
		t.Errorf("the copy: %s", r)
	}
	places := map[string]string{}
	for _, c := range w.contacts(copied.ID) {
		places[c.Variables["place"]] = c.Status
	}
	if len(places) != 7 || places["5"] != "pending" || places[""] != "excluded" {
		t.Errorf("contacts of the copy: %v", places)
	}
	w.act(copied.ID, "start").expect(200)
	eventually(t, "the copy completes", func() bool { return w.detail(copied.ID).Status == "completed" })
	if c := w.lifecycle(copied.ID); c.Counters.Connected != 6 || c.Counters.Completed != 6 {
		t.Errorf("the copy: %+v", c.Counters)
	}

	// The history.
	if _, actions := w.activity(id, ""); actions != " start start" {
		t.Errorf("the log shows%s", actions)
	}
	all, actions := w.activity(id, "?all=true")
	if want := " clone complete start restart cancel_restart edit restart complete start edit add_contacts " +
		"add_contacts create"; actions != want {
		t.Errorf("the whole log is%s, want%s", actions, want)
	}
	if all[0].Other != string(copied.ID) || all[0].Who.Name != FirstAdminEmail || all[0].Who.From != "127.0.0.1" {
		t.Errorf("the clone in the log: %+v", all[0])
	}
	edits, _ := w.activity(id, "?kinds=edit")
	if len(edits) != 2 || len(edits[1].Changes) != 2 || edits[1].Changes[0].Field != "concurrency" ||
		edits[1].Changes[0].To != 2.0 ||
		edits[1].Changes[1].From != "Spring" {
		t.Errorf("edits in the log: %+v", edits)
	}
	if log, _ := w.activity(copied.ID, "?kinds=create"); len(log) != 1 || log[0].Other != string(id) {
		t.Errorf("the copy's log: %+v", log)
	}
	var history struct {
		Total int
		Runs  []struct {
			Run           int
			Status        string
			OnlyUnreached bool                  `json:"only_unreached"`
			StartedBy     struct{ Name string } `json:"started_by"`
			EndedBy       struct{ Name string } `json:"ended_by"`
			Reason        string                `json:"completion_reason"`
			Counters      struct{ Total, Attempts, Connected, Failed int }
		}
	}
	w.restart() // the history is in the database
	w.operator("GET", path+"/runs", nil).expect(200).into(&history)
	if history.Total != 2 || len(history.Runs) != 2 {
		t.Fatalf("runs %+v", history)
	}
	second, first := history.Runs[0], history.Runs[1]
	if first.Run != 1 || first.Status != "completed" || first.Reason == "" || first.Counters.Attempts != 6 ||
		first.Counters.Connected != 3 || first.Counters.Failed != 3 ||
		first.StartedBy.Name != FirstAdminEmail || first.EndedBy.Name != "system" || first.OnlyUnreached {
		t.Errorf("run 1: %+v", first)
	}
	if second.Run != 2 || !second.OnlyUnreached || second.Counters.Attempts != 3 || second.Counters.Connected != 6 {
		t.Errorf("run 2: %+v", second)
	}
	for query, want := range map[string]int{"?run=1": 6, "?run=2": 3, "": 9} {
		if rows := w.report(id, query); len(rows) != want {
			t.Errorf("%d rows in the report%s, want %d", len(rows), query, want)
		}
	}
}

func TestADeletedBotFailsTheCampaignThatRanWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.running(nil)
	talks := w.talks(id)
	eventually(t, "it talks", func() bool { d := w.detail(id); return d.Live != nil && d.Live.InProgress == 1 })
	bot := "/api/v1/bots/" + ourBot
	if r := w.operator("DELETE", bot, nil).expect(409); r.code() != "bot_in_use" {
		t.Errorf("in use: %s", r)
	}
	w.operator("DELETE", bot+"?force=true", nil).expect(204)
	eventually(t, "the campaign fails", func() bool { return w.lifecycle(id).Failure == "bot_deleted" })
	if n := len(model.Ledger().Live()); n != 1 {
		t.Errorf("%d conversations live, want the one that was", n)
	}
	if !w.bot.HangUp(talks.AttemptID.Call()) {
		t.Error("the session is gone")
	}
	eventually(t, "its conversation finishes", func() bool {
		d := w.detail(id)
		return !d.Draining && d.Counters.Completed == 1
	})
	if r := w.act(id, "start").expect(409); r.code() != "illegal_state" {
		t.Errorf("start: %s", r)
	}
	w.act(id, "restart").expect(200)
	if r := w.act(id, "start").expect(409); r.code() != "preflight_failed" {
		t.Errorf("start without its bot: %s", r)
	}
	if _, actions := w.activity(id, "?all=true"); actions != " restart fail start create" {
		t.Errorf("the log is%s", actions)
	}
}
