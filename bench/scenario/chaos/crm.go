package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"dialler/engine"
)

// crm triggers, merges and excludes contacts and places single calls while the
// dialler is killed around it. A request without an answer is sent again with
// its Idempotency-Key until it has one, as a careful CRM does.
type crm struct {
	api *api
	id  engine.CampaignID
	cfg Campaign
	rng *rand.Rand

	stop chan struct{} // closed when no further request is begun
	done chan struct{}

	// The following belong to the worker until done is closed.
	acked    []acked
	fresh    []string // numbers that were triggered
	outs     int      // calls outside the campaign
	excluded map[string]bool
	unsure   int
	faults   []string
}

// acked is a request that was acknowledged.
type acked struct {
	kind    request
	path    string
	token   string
	body    map[string]any
	status  int
	answer  []byte
	at      time.Time // when the answer was in
	numbers []string  // of the contacts that it is about
}

// request is what is asked for.
type request string

const (
	askTrigger request = "trigger" // of a number that is not in the campaign
	askMerge   request = "merge"   // a trigger of one that is
	askExclude request = "exclude"
	askDialout request = "dialout"
)

// weights say how often each is asked for; two in five exclude nobody new.
var weights = []request{askTrigger, askTrigger, askTrigger, askMerge, askExclude, askExclude, askDialout, askDialout}

func newCRM(a *api, id engine.CampaignID, cfg Campaign, rng *rand.Rand) *crm {
	return &crm{api: a, id: id, cfg: cfg, rng: rng, stop: make(chan struct{}), done: make(chan struct{}), excluded: map[string]bool{}}
}

// work sends one request after the other until finish, or the end of ctx.
func (c *crm) work(ctx context.Context) {
	defer close(c.done)
	tick := time.NewTimer(0)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-c.stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.ask(ctx, fmt.Sprintf("%d-%d", c.cfg.Seed, i))
		tick.Reset(50*time.Millisecond + time.Duration(c.rng.Int64N(int64(600*time.Millisecond))))
	}
}

// finish begins no further request and waits for the last one.
func (c *crm) finish() {
	close(c.stop)
	<-c.done
}

// ask makes one request.
func (c *crm) ask(ctx context.Context, token string) {
	a := acked{kind: weights[c.rng.IntN(len(weights))], path: "/api/v1/campaigns/trigger", token: token, body: map[string]any{"campaign_id": c.id}}
	switch a.kind {
	case askTrigger:
		a.numbers = []string{number(c.cfg.Seed, 2, len(c.fresh))}
		a.body["mobile"], a.body["metadata"] = a.numbers[0], map[string]string{"token": token}
	case askMerge:
		a.numbers = []string{number(c.cfg.Seed, 1, c.rng.IntN(c.cfg.Contacts))}
		if c.excluded[a.numbers[0]] {
			return // it would be refused
		}
		a.body["mobile"], a.body["metadata"] = a.numbers[0], map[string]string{"token": token}
	case askExclude:
		a.path = "/api/v1/contacts/exclude"
		c.whom(&a)
		for _, n := range a.numbers {
			c.excluded[n] = true
		}
	case askDialout:
		a.path = "/api/v1/sip/dialout"
		a.body = map[string]any{"bot_id": botID, "to_number": number(c.cfg.Seed, 7, c.outs)}
	}
	r, ok := c.insist(ctx, a.path, token, a.body)
	if !ok {
		return
	}
	a.at, a.status, a.answer = time.Now(), r.status, r.body
	c.acked = append(c.acked, a)
	switch a.kind {
	case askTrigger:
		c.fresh = append(c.fresh, a.numbers[0])
	case askDialout:
		c.outs++
	case askMerge, askExclude:
	}
}

// whom chooses who is excluded: somebody of the list, two who share metadata,
// or who was triggered a moment ago.
func (c *crm) whom(a *acked) {
	i := c.rng.IntN(c.cfg.Contacts)
	switch kind := c.rng.IntN(4); {
	case kind == 0 && len(c.fresh) > 0:
		a.numbers = c.fresh[len(c.fresh)-1:]
		a.body["mobile"] = a.numbers[0]
	case kind == 1:
		for j := range c.cfg.Contacts {
			if group(j) == group(i) {
				a.numbers = append(a.numbers, number(c.cfg.Seed, 1, j))
			}
		}
		a.body["match"] = map[string]any{"group": group(i)}
	default:
		a.numbers = []string{number(c.cfg.Seed, 1, i)}
		a.body["mobile"] = a.numbers[0]
	}
}

// insist sends a request until it is answered. What is not 2xx in the end is a
// fault: every request is one that must be accepted.
func (c *crm) insist(ctx context.Context, path, token string, body any) (reply, bool) {
	for try := 0; ; try++ {
		r, err := c.api.send(ctx, http.MethodPost, path, token, body)
		switch {
		case ctx.Err() != nil:
			return r, false
		case err != nil, r.status >= 500, r.code() == "idempotency_in_progress":
			if err != nil && try == 0 {
				c.unsure++
			}
		case r.status/100 == 2:
			return r, true
		default:
			c.faults = append(c.faults, fmt.Sprintf("POST %s: %d %s", path, r.status, r.body))
			return r, false
		}
		if until(ctx, time.Now().Add(50*time.Millisecond)) != nil {
			return reply{}, false
		}
	}
}

// tokens gives, for every number, the token of the last trigger that was
// acknowledged for it.
func (c *crm) tokens() map[string]string {
	last := map[string]string{}
	for _, a := range c.acked {
		if a.kind == askTrigger || a.kind == askMerge {
			last[a.numbers[0]] = a.token
		}
	}
	return last
}

// identity reads the identifier out of an answer.
func (a *acked) identity(field string) string {
	var m map[string]any
	_ = json.Unmarshal(a.answer, &m)
	s, _ := m[field].(string)
	return s
}
