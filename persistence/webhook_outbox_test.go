package persistence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/engine/webhook"
	"dialler/persistence/webhooks"
)

func (w *told) requests() []webhook.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]webhook.Request(nil), w.sent...)
}

// tell commits one event of a campaign of its own.
func (w *told) tell(id engine.CampaignID) {
	w.t.Helper()
	c := w.campaign(id)
	w.commit(happened(&c, 1, journal.CampaignStarted))
}

func TestWhatIsToldIsDeliveredSignedAndLogged(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.answer = func(*webhook.Request) webhook.Answer { return webhook.Answer{Status: 200, Body: "thanks\x00\xff"} }
	o := w.deliver()
	w.endpoint("whk_1")
	w.tell("cmp_1")
	log := w.await("whk_1", "delivered", all(1, webhook.Delivered))
	if d := log[0]; d.Tries != 1 || d.Status != 200 || !strings.HasPrefix(d.Excerpt, "thanks") || d.TriedAt == nil ||
		d.NextAt != nil || d.Type != "campaign.started" || d.Campaign != "cmp_1" {
		t.Errorf("%+v", d)
	}
	r := w.requests()[0]
	secret, err := webhook.ReadSecret(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != log[0].Message || r.URL != "https://whk_1.example.org/" ||
		r.Signature != webhook.Sign(r.ID, r.At, r.Body, secret) {
		t.Errorf("%+v", r)
	}
	if e, err := w.Endpoints.Webhook(t.Context(), "whk_1"); err != nil || e.LastDeliveredAt == nil {
		t.Errorf("%+v %v", e, err)
	}
	o.Close()
	if st := o.Standing(); st.Endpoints > 1 {
		t.Errorf("%+v", st)
	}
}

func TestAfterARotationBothSecretsSignUntilTheOldOneEnds(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	fresh := webhook.WriteSecret([]byte(strings.Repeat("f", webhook.SecretBytes)))
	if _, err := w.Endpoints.RotateWebhookSecret(t.Context(), "whk_1", fresh, time.Now().Add(time.Hour),
		engine.System); err != nil {
		t.Fatal(err)
	}
	w.deliver()
	w.tell("cmp_1")
	w.await("whk_1", "delivered", all(1, webhook.Delivered))
	old, _ := webhook.ReadSecret(hookSecret)
	now, _ := webhook.ReadSecret(fresh)
	if r := w.requests()[0]; r.Signature != webhook.Sign(r.ID, r.At, r.Body, now, old) ||
		strings.Count(r.Signature, " ") != 1 {
		t.Errorf("signed %q", r.Signature)
	}
	run(t, w.url, "UPDATE webhooks SET old_secret_until = now()")
	w.tell("cmp_2")
	w.await("whk_1", "delivered", all(2, webhook.Delivered))
	if r := w.requests()[1]; r.Signature != webhook.Sign(r.ID, r.At, r.Body, now) {
		t.Errorf("signed %q", r.Signature)
	}
	if err := w.Maintain(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if w.count("webhooks WHERE old_secret <> ''") != 0 {
		t.Error("the old secret is kept for longer than it signs")
	}
}

func TestAnEndpointThatIsGoneIsDisabledAndItsFailuresCanBeReplayed(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.answer = func(r *webhook.Request) webhook.Answer {
		if strings.Contains(r.URL, "whk_gone") {
			return webhook.Answer{Status: 410}
		}
		return webhook.Answer{Status: 204}
	}
	w.endpoint("whk_gone")
	w.endpoint("whk_good")
	began := time.Now().Add(-time.Minute)
	w.tell("cmp_1")
	w.tell("cmp_2")
	w.follow()
	w.deliver(func(c *webhooks.OutboxConfig) { c.PerEndpoint = 1 })
	log := w.await("whk_gone", "failed", all(2, webhook.Failed))
	if log[1].Status != 410 || log[0].Problem != webhook.ProblemInactive || log[0].Tries != 0 {
		t.Errorf("%+v", log)
	}
	w.await("whk_good", "delivered", all(2, webhook.Delivered))
	e, err := w.Endpoints.Webhook(t.Context(), "whk_gone")
	if err != nil || e.Active || e.Disabled != webhook.DisabledGone || e.DisabledAt == nil {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := w.Endpoints.ReplayFailed(t.Context(), "whk_gone", began, nil, engine.System); engine.ErrorCode(
		err,
	) != "webhook_inactive" {
		t.Errorf("%v", err)
	}
	if _, err := w.Endpoints.ChangeWebhook(t.Context(), "whk_gone",
		func(e *webhook.Endpoint) { e.URL = "https://moved.example.org/"; e.Enable(true) }, engine.System); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Minute)
	if n, err := w.Endpoints.ReplayFailed(t.Context(), "whk_gone", soon, nil, engine.System); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	// Who may know of one campaign alone sees and sends nothing of another, whatever the endpoint was told of.
	one := []engine.CampaignID{"cmp_1"}
	list, err := w.Endpoints.Deliveries(t.Context(), "whk_gone", webhook.DeliveryQuery{Of: one, Size: 10})
	if err != nil || len(list) != 1 || list[0].Campaign != "cmp_1" {
		t.Errorf("%+v %v", list, err)
	}
	for _, d := range log {
		if d.Campaign != "cmp_2" {
			continue
		}
		_, err := w.Endpoints.Replay(t.Context(), "whk_gone", d.ID, one, engine.System)
		if engine.ErrorCode(err) != "delivery_not_found" {
			t.Errorf("another campaign's: %v", err)
		}
	}
	n, err := w.Endpoints.ReplayFailed(t.Context(), "whk_gone", began, []engine.CampaignID{"cmp_3"}, engine.System)
	if n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := w.Endpoints.ReplayFailed(t.Context(), "whk_gone", began, nil, engine.System); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	after := w.await("whk_gone", "delivered", all(2, webhook.Delivered))
	if after[0].Message != log[0].Message || after[1].Message != log[1].Message {
		t.Error("a replay has another identifier")
	}
	if d, err := w.Endpoints.Replay(t.Context(), "whk_gone", after[0].ID, nil, engine.System); err != nil ||
		d.State != webhook.Pending ||
		d.Tries != 0 {
		t.Errorf("%+v %v", d, err)
	}
	w.await("whk_gone", "delivered", all(2, webhook.Delivered))
	seen := 0
	for _, r := range w.requests() {
		if r.ID == log[0].Message && strings.Contains(r.URL, "moved") {
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("sent %d times, want twice", seen)
	}
	if _, err := w.Endpoints.Replay(t.Context(), "whk_good", after[0].ID, nil, engine.System); engine.ErrorCode(
		err,
	) != "delivery_not_found" {
		t.Errorf("another's delivery: %v", err)
	}
}

// Whoever changes where an endpoint's messages go may be bound to the campaigns that it is told of now.
func TestNothingThatWaitsIsSentToAnEndpointThatIsNoLongerToldOfItsCampaign(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	began := time.Now().Add(-time.Minute)
	w.tell("cmp_1")
	w.tell("cmp_2")
	w.commit(journal.Write{Events: []journal.Event{{At: time.Now(), Type: journal.AttemptEnded, Version: 1,
		Attempt: engine.AttemptID(strings.Repeat("ab", 16))}}}) // of no campaign
	if n := w.follow(); n != 3 {
		t.Fatalf("%d messages", n)
	}
	tellsOf := func(list ...engine.CampaignID) {
		t.Helper()
		if _, err := w.Endpoints.ChangeWebhook(t.Context(), "whk_1",
			func(e *webhook.Endpoint) { e.Campaigns = list }, engine.System); err != nil {
			t.Fatal(err)
		}
	}
	tellsOf("cmp_1")
	if _, err := w.Endpoints.TestWebhook(t.Context(), "whk_1", webhook.PingMessage("whk_1", time.Now(), "once"),
		engine.System); err != nil {
		t.Fatal(err)
	}
	came := func(want ...string) {
		t.Helper()
		log := w.await("whk_1", "settled", func(list []webhook.Delivery) bool {
			return !slices.ContainsFunc(list, func(d webhook.Delivery) bool { return d.State == webhook.Pending })
		})
		var got []string
		for _, d := range log {
			line := fmt.Sprintln(d.Type, d.Campaign, d.State, d.Tries, d.Problem)
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	w.deliver()
	left := []string{"campaign.started cmp_1 delivered 1", "campaign.started cmp_2 failed 0 other_campaign",
		"dialout.ended failed 0 other_campaign", "webhook.ping delivered 1"}
	came(left...)
	if n := len(w.requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	replay := func() {
		t.Helper()
		if n, err := w.Endpoints.ReplayFailed(t.Context(), "whk_1", began, nil, engine.System); n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	replay()
	came(left...)
	if n := len(w.requests()); n != 2 {
		t.Errorf("%d requests after a replay", n)
	}
	tellsOf() // of every campaign again
	replay()
	came("campaign.started cmp_1 delivered 1", "campaign.started cmp_2 delivered 1", "dialout.ended delivered 1",
		"webhook.ping delivered 1")
}

func TestAServerIsGivenTheTimeThatItAsksFor(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.answer = func(*webhook.Request) webhook.Answer { return webhook.Answer{Status: 429, RetryAfter: time.Hour} }
	w.deliver()
	w.endpoint("whk_1")
	w.tell("cmp_1")
	d := w.await("whk_1", "tried", func(l []webhook.Delivery) bool { return len(l) == 1 && l[0].Tries == 1 })[0]
	if d.State != webhook.Pending || d.Status != 429 || d.NextAt == nil || d.NextAt.Sub(*d.TriedAt) < time.Hour ||
		d.NextAt.Sub(*d.TriedAt) > 2*time.Hour {
		t.Errorf("%+v", d)
	}
	for until := time.Now().Add(time.Minute); w.count("river_job WHERE state = 'scheduled' AND scheduled_at > now() + "+
		"interval '50 minutes'") != 1; {
		if time.Now().After(until) {
			t.Fatal("the job does not wait")
		}
		time.Sleep(10 * time.Millisecond) // polls a condition
	}
	// After its last try it is disabled: nothing was delivered in all that time.
	run(t, w.url, `UPDATE webhook_deliveries SET tries = 9;
		UPDATE river_job SET state = 'available', scheduled_at = now()`)
	w.await("whk_1", "failed", all(1, webhook.Failed))
	if e, err := w.Endpoints.Webhook(t.Context(), "whk_1"); err != nil || e.Active ||
		e.Disabled != webhook.DisabledFailing {
		t.Errorf("%+v %v", e, err)
	}
}

func TestAnEndpointThatHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_slow")
	w.endpoint("whk_fast")
	hang := make(chan struct{})
	w.answer = func(r *webhook.Request) webhook.Answer {
		if strings.Contains(r.URL, "whk_slow") {
			<-hang
			return webhook.Answer{Problem: "timeout"}
		}
		return webhook.Answer{Status: 204}
	}
	c := w.campaign("cmp_1")
	const n = 30
	for seq := int64(1); seq <= n; seq++ {
		w.commit(happened(&c, seq, journal.CampaignPaused))
	}
	w.deliver(func(c *webhooks.OutboxConfig) { c.PerEndpoint = 2 })
	t.Cleanup(func() { close(hang) })
	w.await("whk_fast", "delivered", all(n, webhook.Delivered))
	slow := 0
	for _, r := range w.requests() {
		if strings.Contains(r.URL, "whk_slow") {
			slow++
		}
	}
	if slow > 2 {
		t.Errorf("%d messages at once to one endpoint, want at most 2", slow)
	}
}

func TestATestMessageGoesToAnInactiveEndpointToo(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.deliver()
	w.endpoint("whk_1", func(e *webhook.Endpoint) { e.Active = false })
	d, err := w.Endpoints.TestWebhook(
		t.Context(),
		"whk_1",
		webhook.PingMessage("whk_1", time.Now(), "once"),
		engine.System,
	)
	if err != nil || d.Type != webhook.Ping || d.State != webhook.Pending {
		t.Fatalf("%+v %v", d, err)
	}
	w.await("whk_1", "delivered", all(1, webhook.Delivered))
	if _, err := w.Endpoints.TestWebhook(t.Context(), "whk_2", webhook.PingMessage("whk_2", time.Now(), "once"),
		engine.System); engine.ErrorCode(
		err,
	) != "webhook_not_found" {
		t.Errorf("%v", err)
	}
}

// A test message is of no campaign: whoever may have it sent sees what came of it.
func TestATestMessageIsSeenAndReplayedByWhomeverMaySendIt(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	w.tell("cmp_2")
	w.follow()
	d, err := w.Endpoints.TestWebhook(t.Context(), "whk_1", webhook.PingMessage("whk_1", time.Now(), "once"),
		engine.System)
	if err != nil {
		t.Fatal(err)
	}
	of := []engine.CampaignID{"cmp_1"}
	log, err := w.Endpoints.Deliveries(t.Context(), "whk_1", webhook.DeliveryQuery{Of: of, Size: 10})
	if err != nil || len(log) != 1 || log[0].ID != d.ID {
		t.Errorf("listed %+v %v", log, err)
	}
	if _, err := w.Endpoints.Replay(t.Context(), "whk_1", d.ID, of, engine.System); err != nil {
		t.Errorf("one replayed: %v", err)
	}
	run(t, w.url, "UPDATE webhook_deliveries SET state = 'failed'")
	n, err := w.Endpoints.ReplayFailed(t.Context(), "whk_1", d.CreatedAt.Add(-time.Minute), of, engine.System)
	if n != 1 || err != nil {
		t.Errorf("%d failed ones replayed: %v", n, err)
	}
}

// A process killed in the middle of a try leaves a job that stays running forever.
func TestWhatAKilledProcessWasSendingIsSentAgain(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	w.tell("cmp_1")
	w.follow()
	run(t, w.url, "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{gone}'")
	w.deliver()
	w.await("whk_1", "delivered", all(1, webhook.Delivered))
}

func TestTheLogOfDeliveriesIsDroppedInItsTime(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	for _, id := range []engine.CampaignID{"cmp_1", "cmp_2", "cmp_3"} {
		w.tell(id)
	}
	w.follow()
	run(t, w.url, `UPDATE webhook_deliveries SET state = CASE n WHEN 1 THEN 'delivered' ELSE 'failed' END
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM webhook_deliveries) o WHERE o.id = webhook_deliveries.id`)
	f := func(after time.Duration, want int) {
		t.Helper()
		if err := w.Maintain(t.Context(), time.Now().Add(after)); err != nil {
			t.Fatal(err)
		}
		if m, d := w.count("webhook_messages"), w.count("webhook_deliveries"); m != want || d != want {
			t.Errorf("after %v: %d messages, %d deliveries, want %d", after, m, d, want)
		}
	}
	f(2*24*time.Hour, 3)
	f(4*24*time.Hour, 2)
	f(15*24*time.Hour, 0)
}

func TestSecretsOfWebhooksAreSealed(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	if c, err := w.CheckSecrets(t.Context()); err != nil || c.Plain != 1 {
		t.Fatalf("%+v %v", c, err)
	}
	sealed := storeWith(t, w.url, keysOf(t, newKey(t)))
	if n, err := sealed.SealSecrets(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := sealed.Endpoints.RotateWebhookSecret(t.Context(), "whk_1", hookSecret, time.Now().Add(time.Hour),
		engine.System); err != nil {
		t.Fatal(err)
	}
	if c, err := sealed.CheckSecrets(t.Context()); err != nil || c.Current != 2 ||
		w.count("webhooks WHERE secret LIKE 'whsec%' OR old_secret LIKE 'whsec%'") != 0 {
		t.Errorf("%+v %v", c, err)
	}
}
