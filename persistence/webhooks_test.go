package persistence_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/webhook"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
	"dialler/persistence/webhooks"
)

// told is a store with endpoints, campaigns and the messages sent.
type told struct {
	t   *testing.T
	url string
	*persistence.Store
	mu     sync.Mutex
	sent   []webhook.Request
	answer func(*webhook.Request) webhook.Answer
}

func newTold(t *testing.T) *told {
	t.Helper()
	url := storetest.URL(t)
	return &told{t: t, url: url, Store: storetest.OpenAt(t, url, persistence.Config{}),
		answer: func(*webhook.Request) webhook.Answer { return webhook.Answer{Status: 204} }}
}

var hookSecret = webhook.WriteSecret([]byte(strings.Repeat("s", webhook.SecretBytes)))

func (w *told) endpoint(id webhook.EndpointID, change ...func(*webhook.Endpoint)) {
	w.t.Helper()
	e := webhook.Endpoint{ID: id, URL: "https://" + string(id) + ".example.org/", Active: true, CreatedAt: time.Now(),
		CreatedBy: "ada"}
	for _, f := range change {
		f(&e)
	}
	if err := w.Endpoints.CreateWebhook(w.t.Context(), e, hookSecret, engine.System); err != nil {
		w.t.Fatal(err)
	}
}

// campaign creates a running campaign.
func (w *told) campaign(id engine.CampaignID) campaign.Campaign {
	w.t.Helper()
	if err := w.InsertCampaign(w.t.Context(), campaign.Campaign{ID: id, State: campaign.Running, Run: 1,
		CreatedAt: time.Now()}); err != nil {
		w.t.Fatal(err)
	}
	c, err := w.AcquireCampaign(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func happened(c *campaign.Campaign, seq int64, t journal.Type) journal.Write {
	return journal.Write{Campaign: c.ID, Epoch: c.Epoch,
		Events: []journal.Event{{Campaign: c.ID, Seq: seq, Run: 1, At: time.Now(), Type: t, Version: 1}}}
}

func (w *told) commit(writes ...journal.Write) {
	w.t.Helper()
	refused, err := w.Commit(w.t.Context(), writes)
	for _, e := range refused {
		if err == nil {
			err = e
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// follow reads the history to its end and returns how many messages it made.
func (w *told) follow() (n int) {
	w.t.Helper()
	for {
		f, err := w.Endpoints.FollowEvents(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if n += f.Messages; !f.More {
			return n
		}
	}
}

func (w *told) count(what string, args ...any) (n int) {
	w.t.Helper()
	storetest.Row(w.t, w.url, []any{&n}, "SELECT count(*) FROM "+what, args...)
	return n
}

// deliver opens an outbox whose tries are answered by answer.
func (w *told) deliver(change ...func(*webhooks.OutboxConfig)) *webhooks.Outbox {
	w.t.Helper()
	cfg := webhooks.OutboxConfig{
		Alone: true,
		Every: 20 * time.Millisecond,
		Log:   zerolog.Nop(),
		Deliver: func(_ context.Context, r *webhook.Request) webhook.Answer {
			w.mu.Lock()
			w.sent = append(w.sent, *r)
			w.mu.Unlock()
			return w.answer(r)
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	o := w.Endpoints.OpenOutbox(cfg)
	w.t.Cleanup(o.Close)
	return o
}

// await waits until the log of an endpoint satisfies done.
func (w *told) await(id webhook.EndpointID, what string, done func([]webhook.Delivery) bool) []webhook.Delivery {
	w.t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		list, err := w.Endpoints.Deliveries(w.t.Context(), id, webhook.DeliveryQuery{Size: 1000})
		if err != nil {
			w.t.Fatal(err)
		}
		if done(list) {
			return list
		}
		if time.Now().After(until) {
			w.t.Fatalf("%s: not %s: %+v", id, what, list)
		}
		time.Sleep(10 * time.Millisecond) // polls a condition
	}
}

func all(n int, s webhook.DeliveryState) func([]webhook.Delivery) bool {
	return func(list []webhook.Delivery) bool {
		for i := range list {
			if list[i].State != s {
				return false
			}
		}
		return len(list) == n
	}
}

func TestWhatIsCommittedIsToldOnceAndWhatIsRefusedNever(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	c := w.campaign("cmp_1")
	w.commit(happened(&c, 1, journal.CampaignStarted)) // before there is an endpoint
	w.endpoint("whk_all")
	w.endpoint("whk_some", func(e *webhook.Endpoint) { e.Types = []string{"campaign.paused"} })
	w.endpoint("whk_other", func(e *webhook.Endpoint) { e.Campaigns = []engine.CampaignID{"cmp_2"} })
	stale := c
	stale.Epoch--
	group := []journal.Write{happened(&c, 2, journal.CampaignPaused), happened(&stale, 3, journal.CampaignStopped),
		happened(&c, 4, journal.CampaignResumed), happened(&c, 5, journal.LegAdded)}
	refused, err := w.Commit(t.Context(), group)
	if err != nil || refused[0] != nil || refused[1] == nil || refused[2] != nil {
		t.Fatal(err, refused)
	}
	if n := w.follow(); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
	w.commit(group[0]) // again, as after an unknown outcome
	if n := w.follow(); n != 0 {
		t.Errorf("%d messages of what was told", n)
	}
	for id, want := range map[webhook.EndpointID]string{"whk_all": "campaign.resumed campaign.paused",
		"whk_some": "campaign.paused", "whk_other": ""} {
		list, err := w.Endpoints.Deliveries(t.Context(), id, webhook.DeliveryQuery{Size: 10})
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, d := range list {
			types = append(types, d.Type)
		}
		if got := strings.Join(types, " "); got != want {
			t.Errorf("%s was told %q, want %q", id, got, want)
		}
	}
	if jobs := w.count("river_job"); jobs != 3 {
		t.Errorf("%d jobs", jobs)
	}
}

func TestNothingIsReadWhileNobodyIsToBeTold(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	c := w.campaign("cmp_1")
	w.commit(happened(&c, 1, journal.CampaignStarted))
	f, err := w.Endpoints.FollowEvents(t.Context())
	if err != nil || !f.Elsewhere || w.count("webhook_cursors") != 0 {
		t.Errorf("%+v %v", f, err)
	}
	w.endpoint("whk_1")
	w.commit(happened(&c, 2, journal.CampaignPaused))
	if n := w.follow(); n != 1 {
		t.Errorf("%d messages", n)
	}
	off := func(active bool) {
		t.Helper()
		if _, err := w.Endpoints.ChangeWebhook(t.Context(), "whk_1", func(e *webhook.Endpoint) { e.Enable(active) },
			engine.System); err != nil {
			t.Fatal(err)
		}
	}
	off(false)
	w.commit(happened(&c, 3, journal.CampaignResumed))
	if f, err = w.Endpoints.FollowEvents(t.Context()); err != nil || !f.Elsewhere || w.count("webhook_cursors") != 0 {
		t.Errorf("%+v %v", f, err)
	}
	off(true)
	w.commit(happened(&c, 4, journal.CampaignCompleted))
	if n := w.follow(); n != 1 || w.count("webhook_messages WHERE type = 'campaign.completed'") != 1 {
		t.Errorf("%d messages: what happened meanwhile is told", n)
	}
	if err := w.Endpoints.DeleteWebhook(t.Context(), "whk_1", engine.System); err != nil {
		t.Fatal(err)
	}
	if w.count("river_job")+w.count("webhook_deliveries")+w.count("webhook_cursors") != 0 {
		t.Error("something of a deleted endpoint is left")
	}
}

// Transactions end in another order than they began: an identity column would show gaps that are
// filled later.
func TestNoEventIsMissedWhileManyCommitAtOnceAndTwoRead(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	const campaigns, events, dialouts = 4, 60, 60
	ctx, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if _, err := w.Endpoints.FollowEvents(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range campaigns {
		c := w.campaign(engine.CampaignID(fmt.Sprintf("cmp_%d", i)))
		writers.Go(func() {
			for seq := int64(1); seq <= events; seq++ {
				if refused, err := w.Commit(t.Context(), []journal.Write{happened(&c, seq, journal.CampaignPaused)}); err != nil ||
					refused[0] != nil {
					t.Error(err, refused)
				}
			}
		})
		writers.Go(func() { // calls outside campaigns, in the chains of no campaign
			for n := range dialouts / campaigns {
				id := engine.AttemptID(fmt.Sprintf("%030x%02x", i, n))
				at := time.Now()
				a := attempt.Attempt{ID: id, To: "+4915112345678", State: attempt.Ended, Outcome: engine.OutcomeBusy, EndedAt: &at,
					ReservedAt: &at, Variables: map[string]string{"k": "v"}}
				for _, typ := range []journal.Type{journal.AttemptReserved, journal.AttemptEnded} {
					x := journal.Write{Attempts: []attempt.Attempt{a},
						Events: []journal.Event{{At: at, Type: typ, Version: 1, Attempt: id}}}
					if refused, err := w.Commit(t.Context(), []journal.Write{x}); err != nil || refused[0] != nil {
						t.Error(err, refused)
					}
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	// The server keeps the lock of a disconnected reader until it notices.
	for until := time.Now().Add(time.Minute); ; {
		f, err := w.Endpoints.FollowEvents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !f.Elsewhere && f.Batches == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("there is always more to read")
		}
	}
	if n := w.count("webhook_messages WHERE type = 'campaign.paused'"); n != campaigns*events {
		t.Errorf("%d messages of campaigns, want %d", n, campaigns*events)
	}
	if n := w.count(`webhook_messages WHERE type = 'dialout.ended'
		AND body LIKE '%"to_number":"+4915112345678"%'`); n != dialouts {
		t.Errorf("%d messages of dialouts, want %d", n, dialouts)
	}
	if jobs, n := w.count("river_job"), w.count("webhook_deliveries"); jobs != n || n != campaigns*events+dialouts {
		t.Errorf("%d jobs, %d deliveries", jobs, n)
	}
}

// An older program does not name the attempts of a batch.
func TestDialoutsOfAnOlderProgramAreTold(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1")
	id := engine.AttemptID(strings.Repeat("ab", 16))
	w.commit(journal.Write{Events: []journal.Event{{At: time.Now(), Type: journal.AttemptEnded, Version: 1, Attempt: id}}})
	run(t, w.url, "UPDATE event_batches SET attempts = NULL")
	if n := w.follow(); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestAContactsMessageHoldsWhatItsRowsSay(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1", func(e *webhook.Endpoint) { e.Types = []string{"contact.completed", "attempt.ended"} })
	c := w.campaign("cmp_1")
	cid, aid := engine.ContactID(strings.Repeat("c0", 16)), engine.AttemptID(strings.Repeat("a0", 16))
	x := happened(&c, 1, journal.AttemptEnded)
	x.Contacts = []contact.Contact{{ID: cid, Campaign: c.ID, Number: "+4915112345678", State: contact.Completed, Run: 1,
		Version: 1, Variables: map[string]string{"name": "Ada"}}}
	x.Attempts = []attempt.Attempt{{ID: aid, Campaign: c.ID, Contact: cid, Run: 1, To: "+4915112345678",
		From: "+4930111222", State: attempt.Ended, Outcome: engine.OutcomeCompleted}}
	x.Events[0].Contact, x.Events[0].Attempt = cid, aid
	x.Events[0].Data = journal.Data{Outcome: engine.OutcomeCompleted, Before: &contact.Facts{State: contact.Connected},
		After: &contact.Facts{State: contact.Completed, Used: 1}}
	w.commit(x)
	if n := w.follow(); n != 2 {
		t.Fatalf("%d messages", n)
	}
	for _, typ := range []string{"contact.completed", "attempt.ended"} {
		if n := w.count(`webhook_messages WHERE type = $1 AND subject IS NOT NULL
			AND body LIKE '%+4915112345678%' AND body LIKE '%"variables":{"name":"Ada"}%'`, typ); n != 1 {
			t.Errorf("no whole %s", typ)
		}
	}
	// After the erasure, nothing of the person is left to be sent.
	number := engine.PhoneNumber("+4915112345678")
	if _, err := w.Records.ErasePerson(t.Context(), history.Erasure{Number: number,
		Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "1"), Who: engine.System, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if w.count("webhook_messages")+w.count("webhook_deliveries") != 0 {
		t.Error("messages about an erased person are left")
	}
}

// progressNames are the types that tell a call's progress.
var progressNames = []string{"call.initiated", "call.ringing", "call.answered", "call.bridged", "call.ended"}

// An endpoint that names no types is told what it was told before there were types to be named, and the history is
// not read for more on account of others.
func TestTheProgressOfCallsIsToldToWhoNamesIt(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_usual")
	w.endpoint("whk_named", func(e *webhook.Endpoint) { e.Types = progressNames })
	w.endpoint("whk_one", func(e *webhook.Endpoint) {
		e.Types, e.Campaigns = []string{"call.answered"}, []engine.CampaignID{"cmp_2"}
	})
	of := func(c *campaign.Campaign) {
		t.Helper()
		k := storetest.Call{Epoch: c.Epoch, Contact: contact.Contact{ID: engine.ContactID(storetest.RandomID()),
			Campaign: c.ID, Run: 1, Number: "+4915112345678", State: contact.Pending, Max: 3, CreatedAt: time.Now()}}
		seq := int64(0)
		for step := range storetest.CallSteps {
			if step == 1 {
				seq++
				w.commit(k.Ring(seq, time.Now()))
			}
			seq++
			w.commit(k.Write(step, seq, time.Now()))
		}
	}
	one, two := w.campaign("cmp_1"), w.campaign("cmp_2")
	of(&one)
	of(&two)
	w.follow()
	for id, want := range map[webhook.EndpointID][]string{
		"whk_usual": {"attempt.ended", "result.stored", "contact.completed", "attempt.ended", "result.stored",
			"contact.completed"},
		"whk_named": append(append([]string(nil), progressNames...), progressNames...),
		"whk_one":   {"call.answered"},
	} {
		list, err := w.Endpoints.Deliveries(t.Context(), id, webhook.DeliveryQuery{Size: 100})
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, d := range list {
			count[d.Type]++
		}
		for _, kind := range want {
			count[kind]--
		}
		for kind, n := range count {
			if n != 0 {
				t.Errorf("%s: %+d of %s", id, n, kind)
			}
		}
	}
}

// Whether somebody is to be told that a phone rings is known from the answer to the request on, and forgotten with
// the last endpoint that names it.
func TestWhoIsToBeToldOfRingingIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	f := func(want bool, campaigns ...engine.CampaignID) {
		t.Helper()
		for _, c := range campaigns {
			if got := w.Endpoints.TellsRinging(c); got != want {
				t.Errorf("%q: %v", c, got)
			}
		}
	}
	w.endpoint("whk_usual")
	f(false, "", "cmp_1")
	w.endpoint("whk_1", func(e *webhook.Endpoint) {
		e.Types, e.Campaigns = progressNames, []engine.CampaignID{"cmp_1"}
	})
	f(true, "cmp_1")
	f(false, "", "cmp_2")
	change := func(f func(e *webhook.Endpoint)) {
		t.Helper()
		if _, err := w.Endpoints.ChangeWebhook(t.Context(), "whk_1", f, engine.System); err != nil {
			t.Fatal(err)
		}
	}
	change(func(e *webhook.Endpoint) { e.Campaigns = nil })
	f(true, "", "cmp_2")
	change(func(e *webhook.Endpoint) { e.Enable(false) })
	f(false, "", "cmp_1")
	change(func(e *webhook.Endpoint) { e.Enable(true) })
	f(true, "")
	other := storetest.OpenAt(t, w.url, persistence.Config{}) // another node reads the endpoints
	if other.Endpoints.TellsRinging("") {
		t.Error("known before it was read")
	}
	if _, err := other.Endpoints.Webhooks(t.Context()); err != nil || !other.Endpoints.TellsRinging("") {
		t.Errorf("not known: %v", err)
	}
	if err := w.Endpoints.DeleteWebhook(t.Context(), "whk_1", engine.System); err != nil {
		t.Fatal(err)
	}
	f(false, "", "cmp_1")
}

// caller returns what commits an answered call of a new contact of a campaign, whose request named an address or nil.
func (w *told) caller(id engine.CampaignID) func(*campaign.StatusCallback) engine.ContactID {
	w.t.Helper()
	c, seq := w.campaign(id), int64(0)
	return func(s *campaign.StatusCallback) engine.ContactID {
		w.t.Helper()
		k := storetest.Call{Epoch: c.Epoch, Contact: contact.Contact{ID: engine.ContactID(storetest.RandomID()),
			Campaign: c.ID, Run: 1, Number: engine.PhoneNumber(fmt.Sprintf("+4915112345%03d", seq)), State: contact.Pending,
			Max: 3, CreatedAt: time.Now()}}
		for step := range storetest.CallSteps {
			seq++
			x := k.Write(step, seq, time.Now())
			if step == 0 {
				x.Status = journal.StatusOf(string(k.Contact.ID), s, time.Now())
			}
			w.commit(x)
		}
		return k.Contact.ID
	}
}

// An address that a request named is told on behalf of its endpoint, as long as that allows it.
func TestAnAddressOfARequestIsToldOnBehalfOfItsEndpoint(t *testing.T) {
	t.Parallel()
	w := newTold(t)
	w.endpoint("whk_1", func(e *webhook.Endpoint) { e.Types = []string{webhook.StatusCallback} })
	if !w.Endpoints.TellsRinging("") {
		t.Error("ringing is not stored for addresses of requests")
	}
	call := w.caller("cmp_1")
	own := &campaign.StatusCallback{URL: "https://whk_1.example.org/own?id=17", Endpoint: "whk_1",
		Types: []string{"call.answered", "call.ended"}}
	told := call(own)
	call(nil)
	call(&campaign.StatusCallback{URL: "https://elsewhere.example.org/", Endpoint: "whk_1"})
	call(&campaign.StatusCallback{URL: "https://whk_2.example.org/", Endpoint: "whk_2"}) // deleted meanwhile
	w.deliver()
	w.await("whk_1", "delivered", all(2, webhook.Delivered))
	secret, _ := webhook.ReadSecret(hookSecret)
	for _, r := range w.requests() {
		if r.URL != own.URL || r.Signature != webhook.Sign(r.ID, r.At, r.Body, secret) ||
			!strings.Contains(string(r.Body), string(told)) {
			t.Errorf("%s: %s", r.URL, r.Body)
		}
	}
	// A later request's address takes the place of the earlier one.
	k := journal.Write{Events: []journal.Event{}, Status: journal.StatusOf(string(told), own, time.Now().Add(-time.Hour))}
	k.Status.URL = "https://whk_1.example.org/older"
	w.commit(k)
	if n := w.count("webhook_callbacks WHERE url LIKE '%older'"); n != 0 {
		t.Error("an earlier request came later")
	}
	k.Status.At, k.Status.URL = time.Now().Add(time.Hour), "https://whk_1.example.org/newer"
	w.commit(k)
	if n := w.count("webhook_callbacks WHERE url LIKE '%newer'"); n != 1 {
		t.Error("the address is not replaced")
	}
	// An empty one takes it away.
	k.Status.At, k.Status.URL = time.Now().Add(2*time.Hour), ""
	w.commit(k)
	if n := w.count("webhook_callbacks WHERE subject = $1 AND url = ''", string(told)); n != 1 {
		t.Error("the address is not taken away")
	}
}
