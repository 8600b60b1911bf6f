package persistence_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/webhook"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// ended is the address of a request that is told of the end of its calls alone.
func ended(url string) *campaign.StatusCallback {
	return &campaign.StatusCallback{URL: url, Endpoint: "whk_1", Types: []string{"call.ended"}}
}

// change changes an endpoint.
func (w *told) change(id webhook.EndpointID, f func(*webhook.Endpoint)) {
	w.t.Helper()
	if _, err := w.Endpoints.ChangeWebhook(w.t.Context(), id, f, engine.System); err != nil {
		w.t.Fatal(err)
	}
}

// settled waits until nothing of an endpoint waits, and says what became of each message.
func (w *told) settled(id webhook.EndpointID) []string {
	w.t.Helper()
	var got []string
	for _, d := range w.await(id, "settled", func(list []webhook.Delivery) bool {
		return !slices.ContainsFunc(list, func(d webhook.Delivery) bool { return d.State == webhook.Pending })
	}) {
		got = append(got, strings.Join(strings.Fields(fmt.Sprintln(d.Type, d.State, d.Status, d.Problem)), " "))
	}
	slices.Sort(got)
	return got
}

// lastTries makes the next try of the messages whose body or address contains a text their last, and holds it up until
// it is let go.
func (w *told) lastTries(text string) (letGo func()) {
	w.t.Helper()
	of := ` WHERE message_id IN (SELECT id FROM webhook_messages WHERE body || coalesce(url, '') LIKE '%` + text + `%')`
	jobs := ` WHERE (args->>'delivery')::bigint IN (SELECT id FROM webhook_deliveries` + of + ")"
	run(w.t, w.url, "UPDATE webhook_deliveries SET tries = 9"+of)
	run(w.t, w.url, "UPDATE river_job SET state = 'scheduled', scheduled_at = now() + interval '1 hour'"+jobs)
	return func() {
		w.t.Helper()
		run(w.t, w.url, "UPDATE river_job SET state = 'available', scheduled_at = now()"+jobs)
	}
}

func (w *told) isActive(id webhook.EndpointID) {
	w.t.Helper()
	if e, err := w.Endpoints.Webhook(w.t.Context(), id); err != nil || !e.Active || e.Disabled != "" {
		w.t.Errorf("%+v %v", e, err)
	}
}

// A CRM answers 410 for an order that is gone: it is that address which is told no more, and all others are.
func TestWhatTheAddressOfARequestAnswersDisablesNoEndpoint(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1", func(e *webhook.Endpoint) { e.Types = []string{webhook.StatusCallback, "attempt.ended"} })
	w.answer = func(r *webhook.Request) webhook.Answer {
		switch {
		case strings.Contains(r.URL, "gone"):
			return webhook.Answer{Status: 410}
		case strings.Contains(r.URL, "broken"):
			return webhook.Answer{Status: 500}
		}
		return webhook.Answer{Status: 204}
	}
	call := w.caller("cmp_1")
	const host = "https://whk_1.example.org/"
	call(ended(host + "?order=gone"))
	call(ended(host + "?order=fine"))
	later := call(ended(host + "?order=gone"))
	call(ended(host + "?order=broken"))
	w.follow()
	k := journal.Write{Events: []journal.Event{}, Status: journal.StatusOf(string(later), ended(host+"?order=later"),
		time.Now().Add(time.Hour))}
	w.commit(k)
	addresses := func(want ...string) {
		t.Helper()
		for _, order := range []string{"gone", "fine", "later", "broken"} {
			n := w.count("webhook_callbacks WHERE url LIKE '%' || $1", order)
			if (n == 1) != slices.Contains(want, order) {
				t.Errorf("%d addresses of %s, want those of %s", n, order, want)
			}
		}
	}
	addresses("gone", "fine", "later", "broken")
	letGo := w.lastTries("broken")
	w.deliver()
	w.await("whk_1", "tried", func(list []webhook.Delivery) bool {
		return len(list) == 8 && !slices.ContainsFunc(list, func(d webhook.Delivery) bool { return d.Tries == 0 })
	})
	addresses("fine", "later", "broken")
	w.isActive("whk_1")

	// Nothing was delivered to another address during all tries, though much was to the endpoint.
	letGo()
	want := []string{"attempt.ended delivered 204", "attempt.ended delivered 204", "attempt.ended delivered 204",
		"attempt.ended delivered 204", "call.ended delivered 204", "call.ended failed 410", "call.ended failed 410",
		"call.ended failed 500"}
	if got := w.settled("whk_1"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	addresses("fine", "later")
	w.isActive("whk_1")
}

// One message that it cannot take does not lose an address which takes others.
func TestAnAddressThatTakesOtherMessagesIsToldOn(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1", func(e *webhook.Endpoint) { e.Types = []string{webhook.StatusCallback} })
	w.answer = func(r *webhook.Request) webhook.Answer {
		if strings.Contains(string(r.Body), "call.answered") {
			return webhook.Answer{Status: 500}
		}
		return webhook.Answer{Status: 204}
	}
	own := ended("https://whk_1.example.org/own")
	own.Types = []string{"call.answered", "call.ended"}
	w.caller("cmp_1")(own)
	w.follow()
	letGo := w.lastTries("call.answered")
	w.deliver()
	w.await("whk_1", "delivered", func(list []webhook.Delivery) bool {
		return len(list) == 2 && (list[0].State == webhook.Delivered || list[1].State == webhook.Delivered)
	})
	letGo()
	if got := w.settled("whk_1"); !slices.Equal(got, []string{"call.answered failed 500", "call.ended delivered 204"}) {
		t.Errorf("%q", got)
	}
	if n := w.count("webhook_callbacks"); n != 1 {
		t.Errorf("%d addresses are left", n)
	}
}

// Numbers and variables do not go where the administrator no longer permits it, also when they waited or are replayed.
func TestWhatWaitsForAnAddressThatIsNoLongerPermittedIsNotSent(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	began := time.Now().Add(-time.Minute)
	permits := func(e *webhook.Endpoint) {
		e.URL, e.Types = "https://whk_1.example.org/", []string{webhook.StatusCallback, "attempt.ended"}
	}
	w.endpoint("whk_1", permits)
	w.caller("cmp_1")(ended("https://whk_1.example.org/own"))
	w.follow()
	w.change("whk_1", func(e *webhook.Endpoint) { e.URL = "https://moved.example.org/" })
	w.deliver()
	requests := 0
	f := func(want ...string) {
		t.Helper()
		if got := w.settled("whk_1"); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		all := w.requests()
		for _, r := range all[requests:] {
			if strings.HasPrefix(r.URL, "https://whk_1.example.org/own") && strings.Contains(want[1], "failed") {
				t.Errorf("sent to %s", r.URL)
			}
		}
		requests = len(all)
	}
	replay := func(want int) {
		t.Helper()
		if n, err := w.Endpoints.ReplayFailed(t.Context(), "whk_1", began, nil, engine.System); n != want || err != nil {
			t.Fatal(n, err)
		}
	}
	f("attempt.ended delivered 204", "call.ended failed 0 other_address")
	w.isActive("whk_1")
	for _, change := range []func(*webhook.Endpoint){
		func(e *webhook.Endpoint) { e.URL = "https://moved.example.org/" },
		func(e *webhook.Endpoint) { permits(e); e.URL += "other" },
		func(e *webhook.Endpoint) { permits(e); e.Types = []string{"attempt.ended"} },
	} {
		w.change("whk_1", change)
		replay(1)
		f("attempt.ended delivered 204", "call.ended failed 0 other_address")
	}
	w.change("whk_1", permits)
	replay(1)
	f("attempt.ended delivered 204", "call.ended delivered 204")
	if r := w.requests()[requests-1]; r.URL != "https://whk_1.example.org/own" {
		t.Errorf("sent to %s", r.URL)
	}
	// One that was delivered goes nowhere either when it is replayed later.
	w.change("whk_1", func(e *webhook.Endpoint) { e.URL = "https://moved.example.org/" })
	for _, d := range w.await("whk_1", "delivered", all(2, webhook.Delivered)) {
		if d.Own != (d.Type == "call.ended") || d.Attempt == "" {
			t.Errorf("%+v", d)
		}
		if !d.Own {
			continue
		}
		if _, err := w.Endpoints.Replay(t.Context(), "whk_1", d.ID, nil, engine.System); err != nil {
			t.Fatal(err)
		}
	}
	f("attempt.ended delivered 204", "call.ended failed 0 other_address")
}

// An administrator replaces a webhook by another: the addresses that requests named on its host are told on.
func TestAddressesOutliveTheWebhookThatPermittedThem(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	permits := func(e *webhook.Endpoint) {
		e.URL, e.Types = "https://crm.example.org/", []string{webhook.StatusCallback}
	}
	w.endpoint("whk_1", permits)
	w.endpoint("whk_2", permits)
	call := w.caller("cmp_1")
	f := func(want webhook.EndpointID) {
		t.Helper()
		made := w.count("webhook_deliveries")
		call(ended("https://crm.example.org/own"))
		w.follow()
		now := w.count("webhook_deliveries")
		if n := w.count("webhook_deliveries WHERE webhook_id = $1 AND message_id = (SELECT id FROM webhook_messages "+
			"ORDER BY created_at DESC LIMIT 1)", string(want)); want != "" && (n != 1 || now != made+1) {
			t.Errorf("not told through %s", want)
		}
		if want == "" && now != made {
			t.Errorf("told though nobody permits it")
		}
	}
	f("whk_1")
	w.change("whk_1", func(e *webhook.Endpoint) { e.Enable(false) })
	f("whk_2")
	w.change("whk_1", func(e *webhook.Endpoint) { permits(e); e.Enable(true); e.Campaigns = []engine.CampaignID{"cmp_2"} })
	f("whk_2")
	for _, id := range []webhook.EndpointID{"whk_1", "whk_2"} {
		if err := w.Endpoints.DeleteWebhook(t.Context(), id, engine.System); err != nil {
			t.Fatal(err)
		}
		if id == "whk_1" {
			f("whk_2")
		}
	}
	f("")
	w.endpoint("whk_3", permits)
	f("whk_3")
}

// Whether an address is allowed is known without a query; what is not known to be allowed is looked up, since another
// node may have permitted it a moment ago.
func TestWhetherAnAddressIsAllowedIsKnownFromMemory(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	other := storetest.OpenAt(t, w.url, persistence.Config{SkipMigrations: true})
	f := func(address string, want webhook.EndpointID, wantPaused bool) {
		t.Helper()
		got := webhook.EndpointID("")
		e, paused, err := w.Endpoints.Covering(t.Context(), address, "")
		if err != nil {
			t.Fatal(err)
		}
		if e != nil {
			got = e.ID
		}
		if got != want || paused != wantPaused {
			t.Errorf("%s: %q, paused %v; want %q, %v", address, got, paused, want, wantPaused)
		}
	}
	f("https://whk_1.example.org/own", "", false)
	e := webhook.Endpoint{ID: "whk_1", URL: "https://whk_1.example.org/", Active: true,
		Types: []string{webhook.StatusCallback}, CreatedAt: time.Now()}
	if err := other.Endpoints.CreateWebhook(t.Context(), e, hookSecret, engine.System); err != nil {
		t.Fatal(err)
	}
	f("https://whk_1.example.org/own", "whk_1", false)
	run(t, w.url, "ALTER TABLE webhooks RENAME TO hidden")
	f("https://whk_1.example.org/own", "whk_1", false)
	run(t, w.url, "ALTER TABLE hidden RENAME TO webhooks")
	f("https://elsewhere.example.org/own", "", false)
	w.change("whk_1", func(e *webhook.Endpoint) { e.Enable(false) })
	f("https://whk_1.example.org/own", "", true)
}

// Addresses of contacts stay, those of dialouts until three days beyond their end, in a table of any size.
func TestAddressesOfRequestsAreDroppedInTheirTime(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1", func(e *webhook.Endpoint) { e.Types = []string{webhook.StatusCallback} })
	now := time.Now().UTC().Truncate(time.Microsecond)
	address := func(id, name string) *journal.StatusCallback {
		return journal.StatusOf(id, ended("https://whk_1.example.org/"+name), now)
	}
	w.caller("cmp_1")(ended("https://whk_1.example.org/contact"))
	gone := w.caller("cmp_2")(ended("https://whk_1.example.org/taken"))
	w.commit(journal.Write{Events: []journal.Event{}, Status: journal.StatusOf(string(gone),
		&campaign.StatusCallback{}, now.Add(time.Minute))})
	dialout := func(name string, state attempt.State, at *time.Time) {
		t.Helper()
		a := attempt.Attempt{ID: engine.AttemptID(storetest.RandomID()), Bot: "bot", To: "+4915112345999", Trunk: "t1",
			State: state, ReservedAt: &now, EndedAt: at, Pass: 1, Number: 1}
		if state == attempt.Ended {
			a.Outcome = engine.OutcomeBusy
		}
		w.commit(journal.Write{Attempts: []attempt.Attempt{a}, Status: address(string(a.ID), name),
			Events: []journal.Event{{At: now, Type: journal.AttemptReserved, Version: 1, Attempt: a.ID}}})
	}
	dialout("live", attempt.Ringing, nil)
	dialout("over", attempt.Ended, &now)
	late := now.Add(5 * 24 * time.Hour)
	dialout("long", attempt.Ended, &late)
	at := now.Add(20 * 24 * time.Hour)
	d := campaign.NewScheduledDialout(engine.AttemptID(storetest.RandomID()), campaign.Dialout{Bot: "bot",
		To: "+4915112345998", Times: contact.Times{NotBefore: &at}}, now)
	w.commit(journal.Write{Schedule: &d, Status: address(string(d.ID), "scheduled"), Events: []journal.Event{{At: now,
		Type: journal.DialoutScheduled, Version: 1, Attempt: d.ID}}})
	// More than are looked at in one statement, before and after the others.
	run(t, w.url, `INSERT INTO webhook_callbacks
		SELECT gen_random_uuid(), 'whk_1', 'https://whk_1.example.org/nobody', '{}', now() FROM generate_series(1, 45000)`)
	f := func(days int, want ...string) {
		t.Helper()
		if err := w.Maintain(t.Context(), now.Add(time.Duration(days)*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"contact", "live", "over", "long", "scheduled", "nobody"} {
			n := w.count("webhook_callbacks WHERE url LIKE '%/' || $1", name)
			if (n > 0) != slices.Contains(want, name) {
				t.Errorf("after %d days %d addresses of %s, want those of %s", days, n, name, want)
			}
		}
		if n := w.count("webhook_callbacks WHERE url = ''"); (n == 1) != (days < 3) {
			t.Errorf("after %d days %d that were taken away", days, n)
		}
	}
	f(2, "contact", "live", "over", "long", "scheduled", "nobody")
	f(4, "contact", "live", "long", "scheduled")
	f(9, "contact", "live", "scheduled")
	f(30, "contact", "live", "scheduled")
}
