package persistence_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/engine/webhook"
	"dialler/persistence"
	"dialler/persistence/storetest"
	"dialler/persistence/webhooks"
)

// Several nodes that all follow the history and all deliver send each message of an endpoint once.
func TestSeveralNodesDeliverEachMessageOnce(t *testing.T) {
	t.Parallel()
	const nodes, events = 3, 60
	w := newTold(t)
	w.endpoint("whk_1")
	w.endpoint("whk_2")
	var mu sync.Mutex
	sent, by := map[string]int{}, map[int]int{}
	stores := []*persistence.Store{w.Store}
	for len(stores) < nodes {
		stores = append(stores, storetest.OpenAt(t, w.url, persistence.Config{SkipMigrations: true}))
	}
	for n, s := range stores {
		o := s.Endpoints.OpenOutbox(
			webhooks.OutboxConfig{
				Every:       5e6,
				PerEndpoint: 2,
				Log:         zerolog.Nop(),
				Deliver: func(_ context.Context, r *webhook.Request) webhook.Answer {
					mu.Lock()
					defer mu.Unlock()
					sent[r.URL+" "+r.ID]++
					by[n]++
					return webhook.Answer{Status: 204}
				},
			},
		)
		t.Cleanup(o.Close)
	}
	for i := range events {
		w.tell(engine.CampaignID(fmt.Sprintf("cmp_%d", i)))
	}
	for _, id := range []webhook.EndpointID{"whk_1", "whk_2"} {
		for _, d := range w.await(id, "delivered", all(events, webhook.Delivered)) {
			if d.Tries != 1 || d.Type != string(webhookStarted) {
				t.Errorf("%+v", d)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != 2*events {
		t.Errorf("%d messages, want %d", len(sent), 2*events)
	}
	for what, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", what, n)
		}
	}
	t.Logf("sent by each node: %v", by)
}

const webhookStarted = journal.CampaignStarted
