package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/campaign"
)

// crm triggers, merges and excludes contacts, places single calls, and adds
// lists and files while the dialler is killed around it. A request without an
// answer is sent again with its Idempotency-Key until it has one, as a careful
// CRM does.
type crm struct {
	api  *site.API
	id   engine.CampaignID
	seed uint64
	rng  *rand.Rand

	pause   time.Duration // between two requests at most
	backlog int           // lists and files wait while so many contacts do

	wanted chan request  // is asked for next
	acks   atomic.Int64  // requests that were acknowledged
	stop   chan struct{} // closed when no further request is begun
	done   chan struct{}

	// The following belong to the worker until done is closed.
	asked    int
	acked    []acked
	fresh    []string // numbers that were triggered
	listed   int      // numbers that were given as lists
	outs     int      // calls outside the campaign
	files    []file
	filed    int // numbers in files
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
	askList    request = "list"
	askImport  request = "import"
)

// weights say how often each is asked for; two in five exclude nobody new.
var weights = []request{askTrigger, askTrigger, askTrigger, askMerge, askExclude, askDialout, askList, askImport}

func newCRM(a *site.API, id engine.CampaignID, seed uint64, rng *rand.Rand) *crm {
	return &crm{api: a, id: id, seed: seed, rng: rng, pause: 320 * time.Millisecond, backlog: 60,
		wanted: make(chan request, 1), stop: make(chan struct{}), done: make(chan struct{}), excluded: map[string]bool{}}
}

// hurry asks for something next.
func (c *crm) hurry(kind request) {
	select {
	case c.wanted <- kind:
	default:
	}
}

// progress counts what was acknowledged.
func (c *crm) progress() int64 { return c.acks.Load() }

// work sends one request after the other until finish, or the end of ctx.
func (c *crm) work(ctx context.Context) {
	defer close(c.done)
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-ctx.Done():
			return
		case kind := <-c.wanted:
			c.ask(ctx, kind)
			continue
		case <-tick.C:
		}
		kind := weights[c.rng.IntN(len(weights))]
		if (kind == askList || kind == askImport) && !c.hungry(ctx) {
			kind = askTrigger
		}
		c.ask(ctx, kind)
		tick.Reset(20*time.Millisecond + time.Duration(c.rng.Int64N(int64(c.pause-20*time.Millisecond))))
	}
}

// finish begins no further request and waits for the last one.
func (c *crm) finish() {
	close(c.stop)
	<-c.done
}

// hungry says whether the campaign has few contacts left.
func (c *crm) hungry(ctx context.Context) bool {
	var d detail
	if c.api.Must(ctx, http.MethodGet, "/api/v1/campaigns/"+string(c.id), nil, &d) != nil {
		return false
	}
	return d.Counters.Pending < c.backlog
}

// ask makes one request.
func (c *crm) ask(ctx context.Context, kind request) {
	token := fmt.Sprintf("%s-%d", c.id, c.asked)
	c.asked++
	a := acked{kind: kind, path: "/api/v1/campaigns/trigger", token: token, body: map[string]any{"campaign_id": c.id}}
	switch kind {
	case askTrigger:
		a.numbers = []string{number(c.seed, 2, len(c.fresh))}
		a.body["mobile"], a.body["metadata"] = a.numbers[0], map[string]string{"token": token}
	case askMerge:
		a.numbers = []string{number(c.seed, 1, c.rng.IntN(c.listed))}
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
		a.body = map[string]any{"bot_id": botID, "to_number": number(c.seed, 7, c.outs)}
	case askList:
		c.list(ctx)
		return
	case askImport:
		c.upload(ctx)
		return
	}
	r, ok := c.insist(ctx, func() (site.Reply, error) { return c.api.Send(ctx, http.MethodPost, a.path, token, a.body) },
		"POST "+a.path)
	if !ok {
		return
	}
	a.at, a.status, a.answer = time.Now(), r.Status, r.Body
	c.acked = append(c.acked, a)
	c.acks.Add(1)
	switch kind {
	case askTrigger:
		c.fresh = append(c.fresh, a.numbers[0])
	case askDialout:
		c.outs++
	default:
	}
}

// whom chooses who is excluded: somebody of the list, two who share metadata,
// or who was triggered a moment ago.
func (c *crm) whom(a *acked) {
	i := c.rng.IntN(c.listed)
	switch kind := c.rng.IntN(4); {
	case kind == 0 && len(c.fresh) > 0:
		a.numbers = c.fresh[len(c.fresh)-1:]
		a.body["mobile"] = a.numbers[0]
	case kind == 1:
		for j := range c.listed {
			if group(j) == group(i) {
				a.numbers = append(a.numbers, number(c.seed, 1, j))
			}
		}
		a.body["match"] = map[string]any{"group": group(i)}
	default:
		a.numbers = []string{number(c.seed, 1, i)}
		a.body["mobile"] = a.numbers[0]
	}
}

// list adds contacts. It has no Idempotency-Key and needs none: whom the
// campaign has already it does not get again.
func (c *crm) list(ctx context.Context) {
	a := acked{kind: askList, path: "/api/v1/campaigns/" + string(c.id) + "/contacts"}
	var rows []map[string]any
	for i := c.listed; i < c.listed+listSize; i++ {
		a.numbers = append(a.numbers, number(c.seed, 1, i))
		rows = append(rows, map[string]any{"mobile": number(c.seed, 1, i), "metadata": map[string]string{"group": group(i)}})
	}
	r, ok := c.insist(ctx, func() (site.Reply, error) {
		return c.api.Send(ctx, http.MethodPost, a.path, "", map[string]any{"contacts": rows})
	}, "POST "+a.path)
	if !ok {
		return
	}
	c.listed += listSize
	a.at, a.status, a.answer = time.Now(), r.Status, r.Body
	c.acked = append(c.acked, a)
	c.acks.Add(1)
}

// file is a CSV file that was sent; a file is sent under one name until the
// dialler says that it has it.
type file struct {
	name    string
	numbers []string
	acked   bool
}

// upload sends a file. When its answer does not come the list of imports tells
// whether it is there; every other time it is then left alone, so that what
// became of it is judged as it is.
func (c *crm) upload(ctx context.Context) {
	f := file{name: fmt.Sprintf("%d-%d.csv", c.seed, len(c.files))}
	text := "phone_number,file\n"
	for range 5 + c.rng.IntN(40) {
		n := number(c.seed, 5, c.filed)
		c.filed++
		f.numbers = append(f.numbers, n)
		text += n + "," + f.name + "\n"
	}
	insist := c.rng.IntN(2) == 0
	path := "/api/v1/campaigns/" + string(c.id) + "/imports"
	r, ok := c.insist(ctx, func() (site.Reply, error) {
		r, err := c.api.File(ctx, path+"?filename="+f.name, text)
		if err == nil && r.Status/100 == 2 {
			return r, nil
		}
		if has, sure := c.has(ctx, path, f.name); sure && (has || !insist) {
			return site.Reply{Status: http.StatusNoContent}, nil // settled
		}
		return r, err
	}, "POST "+path)
	if !ok {
		return
	}
	if r.Status == http.StatusNoContent {
		f.acked, _ = c.has(ctx, path, f.name)
	} else {
		f.acked = true
		var imp campaign.Import
		if err := json.Unmarshal(r.Body, &imp); err != nil || imp.State != campaign.ImportActive ||
			imp.Rows != len(f.numbers) {
			c.faults = append(c.faults, fmt.Sprintf("import %s of %d rows was answered %d %s",
				f.name, len(f.numbers), r.Status, r.Body))
		}
	}
	c.files = append(c.files, f)
	c.acks.Add(1)
}

// has asks whether a file was imported; sure says that the dialler answered and
// nothing is under way.
func (c *crm) has(ctx context.Context, path, name string) (has, sure bool) {
	var list struct{ Imports []campaign.Import }
	if c.api.Must(ctx, http.MethodGet, path, nil, &list) != nil {
		return false, false
	}
	for _, i := range list.Imports {
		if i.Open() {
			return false, false
		}
		has = has || i.Filename == name && i.State == campaign.ImportActive
	}
	return has, true
}

// busy are refusals that pass: another request of the same key, or another file,
// is under way; a node hears of a new bot within two seconds.
var busy = map[string]bool{"idempotency_in_progress": true, "import_in_progress": true, "bot_not_found": true}

// insist sends a request until it is answered. What is not 2xx in the end is a
// fault: every request is one that must be accepted.
func (c *crm) insist(ctx context.Context, send func() (site.Reply, error), what string) (site.Reply, bool) {
	for try := 0; ; try++ {
		r, err := send()
		switch {
		case ctx.Err() != nil:
			return r, false
		case err != nil, r.Status >= 500, busy[r.Code()]:
			if err != nil && try == 0 {
				c.unsure++
			}
		case r.Status/100 == 2:
			return r, true
		default:
			c.faults = append(c.faults, fmt.Sprintf("%s: %d %s", what, r.Status, r.Body))
			return r, false
		}
		if site.Until(ctx, time.Now().Add(50*time.Millisecond)) != nil {
			return site.Reply{}, false
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
