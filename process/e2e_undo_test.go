package process

import (
	"context"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Somebody imports the wrong file into a running campaign: some of its people were called, one is being called, one
// was triggered meanwhile.
func TestAWrongFileIsTakenBackWhileItsCampaignDials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 60*time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.campaign(map[string]any{"concurrency": 3, "always_on": true})
	file, numbers := contactFile(40)
	var imp campaign.Import
	w.upload(id, file).expect(201).into(&imp)
	w.act(id, "start").expect(200)
	eventually(t, "three people talk", func() bool { return len(model.Ledger().Calls()) == 3 })
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": numbers[20]}).expect(200)

	path := importsOf(id) + "/" + string(imp.ID) + "/undo"
	var preview campaign.UndoCounts
	w.operator("GET", path, nil).expect(200).into(&preview)
	if preview.TakenBack != 36 || preview.Stayed != 4 || preview.Reasons[contact.StayNamed] != 1 {
		t.Errorf("preview %+v", preview)
	}
	w.operator("POST", path, nil).expect(200).into(&imp)
	if u := imp.Undo; u == nil || u.State != campaign.UndoDone || u.TakenBack != 36 || u.Stayed != 4 ||
		u.CreatedBy.Name != FirstAdminEmail {
		t.Fatalf("taken back: %+v", u)
	}
	if d := w.detail(id); d.Counters.Total != 4 || d.Counters.States[contact.Pending] > 1 {
		t.Errorf("it shows %+v", d.Counters)
	}
	var again campaign.Import
	w.operator("POST", path, nil).expect(200).into(&again)
	if again.Undo == nil || again.Undo.TakenBack != 36 {
		t.Errorf("again: %+v", again.Undo)
	}
	log, _, err := w.p.store.Lists.Activity(context.Background(), id, []journal.Type{journal.ImportUndone},
		campaign.Page{Number: 1, Size: 10})
	if err != nil || len(log) != 1 || log[0].Data.Import != imp.ID || log[0].Data.Count != 36 {
		t.Errorf("activity %+v, %v", log, err)
	}

	// The right file has some of the same people.
	right := "phone_number,first_name,account\n" + numbers[30] + ",Ada,x\n" + numbers[20] + ",Ada,x\n"
	w.upload(id, right).expect(201).into(&imp)
	if imp.Added != 1 || imp.Duplicate != 1 {
		t.Errorf("the right file: %+v", imp)
	}
	w.act(id, "stop").expect(200)
	if d := w.detail(id); d.Counters.Total != 5 {
		t.Errorf("at the end %+v", d.Counters)
	}
	for i, n := range numbers[3:] {
		if calls := len(model.Ledger().To(engine.PhoneNumber(n))); calls != 0 {
			t.Errorf("number %d was called %d times", i+3, calls)
		}
	}
	if a := w.operator("POST", importsOf(id)+"/"+string(imp.ID)+"/undo", nil).expect(409); a.code() != "run_over" {
		t.Errorf("in a completed campaign: %s", a)
	}
}

// The process is killed after the first of three pages. What was asked for is durable, and the next process goes on
// with it, whether the campaign runs or has never run.
func TestAListIsTakenBackThroughAKill(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"", "start"} {
		t.Run("after "+action, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tuning{}, time.Second)
			closed := time.Now().UTC().AddDate(0, 0, 3).Weekday().String()[:3] // until then
			id := w.campaign(map[string]any{"number_pool": []string{ourNumber}, "window": map[string]any{"zone": "UTC",
				"start": "00:00", "end": "00:00", "days": []string{closed}}})
			w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
			file, _ := contactFile(15_000)
			var imp campaign.Import
			w.upload(id, file).expect(201).into(&imp)
			if action != "" {
				w.act(id, action).expect(200)
			}
			r := w.asProgram()
			w.operator("POST", importsOf(id)+"/"+string(imp.ID)+"/undo", nil).expect(202).into(&imp)
			if u := imp.Undo; u == nil || u.State != campaign.UndoInProgress || u.TakenBack != 5000 {
				t.Fatalf("after a page: %+v", u)
			}
			w.killed(r)
			eventually(t, "the rest is taken back", func() bool {
				w.operator("GET", importsOf(id)+"/"+string(imp.ID), nil).expect(200).into(&imp)
				return imp.Undo != nil && imp.Undo.State == campaign.UndoDone
			})
			if u := imp.Undo; u.TakenBack != 15_000 || u.Stayed != 0 || u.CreatedBy.Name != FirstAdminEmail {
				t.Errorf("at the end: %+v", u)
			}
			if n, d := w.rows("contacts"), w.detail(id); n != 0 || d.Counters.Total != 0 {
				t.Errorf("%d contacts are left, %d are counted", n, d.Counters.Total)
			}
		})
	}
}

// Another node takes the list back, and is killed after the first of three pages: who owns the campaign next goes on.
func TestAListOfAnotherNodeIsTakenBack(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	id := w.campaignOf("two", nil)
	file, _ := contactFile(15_000)
	var imp campaign.Import
	w.upload(id, file).expect(201).into(&imp)
	path := importsOf(id) + "/" + string(imp.ID)
	w.operator("POST", path+"/undo", nil).expect(202).into(&imp)
	if u := imp.Undo; u == nil || u.State != campaign.UndoInProgress || u.TakenBack != 5000 {
		t.Fatalf("after a page: %+v", u)
	}
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, 3*patience, "the rest is taken back", func() bool {
		r := w.operator("GET", path, nil)
		if r.status != 200 {
			return false
		}
		r.into(&imp)
		return imp.Undo != nil && imp.Undo.State == campaign.UndoDone
	})
	if name, _ := w.ownerOf(id); imp.Undo.TakenBack != 15_000 || imp.Undo.Stayed != 0 || name != "one" {
		t.Errorf("by %q: %+v", name, imp.Undo)
	}
	if n, d := w.rows("contacts"), w.detail(id); n != 0 || d.Counters.Total != 0 {
		t.Errorf("%d contacts are left, %d are counted", n, d.Counters.Total)
	}
}
