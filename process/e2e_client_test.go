package process

import (
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/http/client"
)

// The Go client for integrations works with a running dialler as documented.
func TestTheGoClientDoesWhatAnIntegrationNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{webhookEvery: 50 * time.Millisecond}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	ctx := t.Context()
	in := newIntegrator(t)
	_, secret := w.hook(in.URL+"/in", map[string]any{"types": []string{"contact.completed"}})

	as := func(options ...client.Option) *client.Client {
		t.Helper()
		c, err := client.New(w.p.URL(), append(options, client.WithHTTPClient(w.client))...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	crm, operator, stranger := as(client.WithAPIKey(w.key)), as(client.WithToken(w.admin)), as(
		client.WithAPIKey("vx_"+strings.Repeat("a", 32)))
	// must checks what has to succeed.
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(err error, status int, code string) *client.Error {
		t.Helper()
		var e *client.Error
		if !errors.As(err, &e) || e.Status != status || e.Code != code || e.Detail == "" || e.RequestID == "" {
			t.Fatalf("refused with %v, want %d %s", err, status, code)
		}
		return e
	}

	// An operator creates a campaign and fills it from a file.
	made, err := operator.CreateCampaign(ctx, settings(map[string]any{"always_on": true, "retry_delay_s": 60}))
	must(err)
	to := newNumber()
	file := "phone_number,name\n" + to + ",Ada\n" + to + ",Ada\nnobody,Ada\n"
	imported, err := operator.ImportCSV(ctx, made.CampaignID, "people.csv", strings.NewReader(file))
	must(err)
	if imported.State != "active" || imported.Added != 1 || imported.Duplicate != 1 || imported.Invalid != 1 {
		t.Errorf("the file became %+v", imported)
	}
	if shown, err := operator.Import(ctx, made.CampaignID, imported.ImportID); err != nil || shown.Rows != 3 {
		t.Errorf("%+v, %v", shown, err)
	}
	var rejected []string
	for row, err := range operator.RejectedRows(ctx, made.CampaignID, imported.ImportID) {
		must(err)
		rejected = append(rejected, row.Reason)
	}
	if got := strings.Join(rejected, " "); got != "duplicate invalid_number" {
		t.Errorf("rejected: %s", got)
	}
	second := newNumber()
	if added, err := operator.AddContacts(ctx, made.CampaignID,
		[]client.NewContact{{Mobile: second, Metadata: map[string]any{"account": "A-17"}}}); err != nil || added.Added != 1 {
		t.Errorf("%+v, %v", added, err)
	}
	batch, err := operator.AddBatch(ctx, made.CampaignID,
		client.Batch{Contacts: []client.NewContact{{Mobile: second}, {Mobile: "12"}}})
	must(err)
	if batch.Duplicates != 1 || batch.Invalid != 1 || len(batch.Results) != 2 || batch.Results[0].Status != "duplicate" ||
		batch.Results[1].Problem == nil {
		t.Errorf("the batch became %+v", batch)
	}
	edited, err := operator.EditCampaign(ctx, made.CampaignID, made.Version, map[string]any{"concurrency": 3})
	must(err)
	_, err = operator.EditCampaign(ctx, made.CampaignID, made.Version, map[string]any{"concurrency": 4})
	if e := refused(err, 409, "version_conflict"); len(e.Current) == 0 || edited.Version == made.Version {
		t.Errorf("without the present state: %+v", e)
	}

	// An excluded contact is left alone.
	gone, err := crm.Exclude(ctx, client.Exclude{CampaignID: made.CampaignID, Match: map[string]string{"account": "A-17"},
		Reason: "paid"})
	must(err)
	if gone.Matched != 1 || gone.Excluded != 1 {
		t.Errorf("%+v", gone)
	}
	match := map[string]string{"account": "A-17"}
	var left []client.Exclusion
	for x, err := range crm.Exclusions(ctx, made.CampaignID, "") {
		must(err)
		left = append(left, x)
	}
	if len(left) != 1 || left[0].Match["account"] != "A-17" || left[0].Reason != "paid" {
		t.Errorf("left alone: %+v", left)
	}
	if n, err := operator.LiftExclusion(ctx, made.CampaignID, "", match); err != nil || n != 1 {
		t.Errorf("%d readmitted, %v", n, err)
	}
	if again, err := operator.AddExclusion(ctx, client.Exclude{CampaignID: made.CampaignID, Mobile: second,
		Reason: "=paid"}); err != nil || again.Excluded != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	more, err := operator.ImportExclusions(ctx, made.CampaignID, "robinson",
		strings.NewReader("phone_number\n"+newNumber()+"\nnobody\n"))
	must(err)
	if more.Rows != 2 || more.Invalid != 1 || more.Matched != 0 || len(more.Rejected) != 1 {
		t.Errorf("%+v", more)
	}
	table, err := crm.ExclusionsCSV(ctx, made.CampaignID)
	must(err)
	rows, err := csv.NewReader(table).ReadAll()
	must(errors.Join(err, table.Close()))
	if len(rows) != 3 || !slices.ContainsFunc(rows, func(r []string) bool { return r[0] == second && r[2] == "'=paid" }) {
		t.Errorf("exported: %q", rows)
	}
	if log := w.operator("GET", "/api/v1/campaigns/"+made.CampaignID+"/activity?kinds=import_exclusions",
		nil).expect(200); !strings.Contains(string(log.body), `"contacts":1`) {
		t.Errorf("the activity log: %s", log.body)
	}
	played, err := operator.Simulate(ctx, made.CampaignID, client.Simulate{Seed: 7, Contacts: 5,
		WhatIf: map[string]int{"seats": 2}})
	must(err)
	if played.Contacts != 5 || played.AsIs.Summary.Dials == 0 || played.WhatIf == nil {
		t.Errorf("simulated: %+v", played)
	}
	for _, act := range []func() (client.Campaign, error){
		func() (client.Campaign, error) { return operator.Start(ctx, made.CampaignID) },
		func() (client.Campaign, error) { return operator.Pause(ctx, made.CampaignID) },
		func() (client.Campaign, error) { return operator.Resume(ctx, made.CampaignID) },
	} {
		_, err := act()
		must(err)
	}
	_, err = operator.Start(ctx, made.CampaignID)
	_ = refused(err, 409, "illegal_state")

	// A trigger, and its repeat.
	third := newNumber()
	trigger := client.Trigger{CampaignID: made.CampaignID, Mobile: third, Metadata: map[string]any{"vip": true},
		IdempotencyKey: "order-4711"}
	first, err := crm.Trigger(ctx, trigger)
	must(err)
	again, err := crm.Trigger(ctx, trigger)
	must(err)
	if again.ContactID != first.ContactID || again.Status != first.Status {
		t.Errorf("%+v, and then %+v", first, again)
	}
	_, err = crm.Trigger(ctx, client.Trigger{CampaignID: made.CampaignID, Mobile: "12"})
	if e := refused(err, 422, "validation_failed"); len(e.Fields) != 1 || e.Fields[0].Field != "mobile" {
		t.Errorf("%+v", e)
	}
	_, err = stranger.Trigger(ctx, trigger)
	_ = refused(err, 401, "unauthorized")
	_, err = crm.Campaign(ctx, "nowhere")
	_ = refused(err, 404, "campaign_not_found")

	// A dialout.
	placed, err := crm.Dialout(ctx, client.Dialout{BotID: ourBot, ToNumber: newNumber(),
		Variables: map[string]string{"name": "Ada"}})
	must(err)
	w.ended(engine.CallID(placed.CallID), engine.OutcomeCompleted)
	call, err := crm.Call(ctx, placed.CallID)
	must(err)
	if call.State != "ended" || call.Outcome != "completed" || call.Disposition != "interested" || call.Result == nil ||
		call.EndedAt == nil || call.To != placed.To {
		t.Errorf("the call: %+v", call)
	}
	listed := map[string]bool{}
	for call, err := range crm.Calls(ctx, client.CallFilter{State: "ended", Number: placed.To,
		From: placed.CreatedAt.Add(-time.Minute)}) {
		must(err)
		listed[call.CallID] = call.Outcome == "completed" && call.CampaignID == ""
	}
	if len(listed) != 1 || !listed[placed.CallID] {
		t.Errorf("listed: %v", listed)
	}
	_ = refused(crm.HangUp(ctx, placed.CallID), 404, "call_ended")
	tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	later, err := crm.Dialout(ctx, client.Dialout{BotID: ourBot, ToNumber: newNumber(), NotBefore: tomorrow,
		ExpiresAt: tomorrow.Add(time.Hour)})
	must(err)
	if call, err = crm.Call(ctx, later.CallID); err != nil || later.Status != "scheduled" || call.State != "scheduled" ||
		call.Scheduled == nil || !call.Scheduled.NotBefore.Equal(tomorrow) || call.Explanation.Code != "not_before" {
		t.Errorf("for tomorrow: %+v, %+v, %v", later, call, err)
	}
	must(crm.CancelDialout(ctx, later.CallID))
	_ = refused(crm.CancelDialout(ctx, later.CallID), 409, "dialout_placed")

	// The results of all of it.
	eventually(t, "both contacts are completed", func() bool {
		n := 0
		for c, err := range crm.Contacts(ctx, made.CampaignID, client.ContactFilter{Status: "completed"}) {
			must(err)
			if len(c.Trail) == 1 && c.Trail[0].Outcome == "completed" {
				n++
			}
		}
		return n == 2
	})
	one, err := crm.Contact(ctx, made.CampaignID, first.ContactID)
	must(err)
	if one.PhoneNumber != third || one.Variables["vip"] != "true" || one.Explain == nil ||
		one.Explain.Code != "completed" {
		t.Errorf("the contact: %+v", one)
	}
	eventually(t, "the webhook tells of both", func() bool { return len(in.all()) >= 2 })
	delivery := in.all()[0]
	event, err := client.Verify(delivery.Header, delivery.Body, secret)
	must(err)
	if event.Type != "contact.completed" || event.ID != delivery.id() || time.Since(event.At) > time.Hour {
		t.Errorf("the webhook: %+v", event)
	}
	if _, err := client.Verify(delivery.Header, append(bytes.Clone(delivery.Body), ' '), secret); !errors.Is(err,
		client.ErrNotVerified) {
		t.Errorf("a changed body: %v", err)
	}
	ended, err := operator.Stop(ctx, made.CampaignID)
	must(err)
	if ended.Status != "completed" || ended.Counters.Completed != 2 || ended.Counters.Excluded != 1 ||
		ended.Counters.AnswerRate == nil {
		t.Errorf("the campaign: %+v", ended)
	}
	_, err = operator.RetryContact(ctx, made.CampaignID, first.ContactID)
	_ = refused(err, 409, "campaign_not_running")
	_, err = operator.CallBackContact(ctx, made.CampaignID, first.ContactID, time.Now().Add(time.Hour))
	_ = refused(err, 409, "campaign_not_running")
	if alone, err := operator.ExcludeContact(ctx, made.CampaignID, first.ContactID, "asked"); err != nil ||
		alone.ContactID != first.ContactID {
		t.Errorf("%+v, %v", alone, err)
	}
	var names []string
	for c, err := range operator.Campaigns(ctx, "completed") {
		must(err)
		names = append(names, c.CampaignID)
	}
	if len(names) != 1 || names[0] != made.CampaignID {
		t.Errorf("completed campaigns: %v", names)
	}
	report, err := crm.AttemptReport(ctx, made.CampaignID, client.ReportPart{Run: 1})
	must(err)
	defer func() { _ = report.Close() }()
	rows, err = csv.NewReader(report).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Errorf("the report has %d lines, %v", len(rows), err)
	}
	var part strings.Builder
	since, err := crm.WriteReport(ctx, made.CampaignID, client.ReportPart{Run: 1, After: rows[1][3],
		Columns: report.Columns}, &part)
	must(err)
	if since.Rows != 1 || since.Part.After != report.Cursor() || part.String() != strings.Join(rows[2], ",")+"\r\n" {
		t.Errorf("behind the first row %+v: %s", since, part.String())
	}
	eventually(t, "its calls are over",
		func() bool { c, err := operator.Campaign(ctx, made.CampaignID); return err == nil && !c.Draining })
	prepared, err := operator.Restart(ctx, made.CampaignID, false)
	must(err)
	if !prepared.PreparedRestart || prepared.Run != 2 {
		t.Errorf("%+v", prepared)
	}
	_, err = operator.CancelRestart(ctx, made.CampaignID)
	must(err)
	_ = refused(operator.DeleteCampaign(ctx, made.CampaignID), 409, "campaign_was_run")
	w.quiet()
}
