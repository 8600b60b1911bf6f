package http

import (
	"bufio"
	"context"
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/http/wire"
)

func TestMoreThanCanBeUnderWayIsRefusedAndOthersHaveTheirOwnRoom(t *testing.T) {
	b := newBench(t, func(c *Config) { c.IntakeCap = 4 })
	entered, leave := make(chan struct{}, 4), make(chan struct{})
	b.ports.onTrigger = func(_ context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
		entered <- struct{}{}
		<-leave
		return campaign.TriggerReply{Status: "queued", ContactID: "c", CampaignID: c.Campaign}, nil
	}
	answers := make(chan answer, 4)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { answers <- b.byKey("POST", triggerPath, triggerBody("")) })
		<-entered
	}
	for range 3 {
		a := b.byKey("POST", triggerPath, triggerBody("")).is(503, "overloaded")
		if a.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
		}
	}
	// Requests that stop calls or read are not held up by those that add calls.
	b.byKey("POST", "/api/v1/contacts/exclude", `{"campaign_id":"cmp_1","mobile":"`+mobile+`"}`).is(200, "")
	b.byAdmin("GET", "/api/v1/campaigns", "").is(200, "")
	if n := b.labelled("dialler_http_overloaded_total", "calls"); n != 3 {
		t.Errorf("%v refusals are counted", n)
	}
	close(leave)
	all.Wait()
	for range 4 {
		(<-answers).is(200, "")
	}
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "")
}

// labelled returns the value of one label in /metrics.
func (b *bench) labelled(name, label string) float64 {
	b.t.Helper()
	families, err := b.server.Registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue()
			}
		}
	}
	b.t.Fatalf("there is no %s of %s", name, label)
	return 0
}

func TestARefusedRequestIsNotKeptUnderItsIdempotencyKey(t *testing.T) {
	b := newBench(t, func(c *Config) { c.IntakeCap = 1 })
	if !b.server.gates.pass(intakeCalls) {
		t.Fatal("there is no room at all")
	}
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k").is(503, "overloaded")
	b.server.gates.leave(intakeCalls)
	if a := b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k").is(200,
		""); a.header.Get("Idempotent-Replayed") != "" {
		t.Error("the refusal was kept")
	}
}

// An operator who pauses a campaign because of overload gets through.
func TestAnOperatorIsNotHeldUpByResultsAndTriggers(t *testing.T) {
	b := newBench(t)
	for _, i := range []intake{intakeCalls, intakeWords} {
		for b.server.gates.pass(i) {
		}
	}
	b.byKey("POST", triggerPath, triggerBody("")).is(503, "overloaded")
	b.byAdmin("POST", campaignPath+"/pause", "").is(200, "")
	for _, i := range []intake{intakeCalls, intakeWords} {
		b.server.gates.in[i].Store(0)
	}
}

func TestLongBodiesHaveABoundTogether(t *testing.T) {
	b := newBench(t)
	held := bodiesCap - 100<<10
	if b.server.gates.keep(held) != nil {
		t.Fatal("no room")
	}
	list := `{"contacts":[` + strings.Repeat(" ", 200<<10) + `{"mobile":"` + mobile + `"}]}`
	path := "/api/v1/campaigns/cmp_1/contacts"
	b.byAdmin("POST", path, list).is(503, "overloaded")
	b.byKey("POST", triggerPath, triggerBody("")).is(200, "") // a short one gets through
	if n := b.labelled("dialler_http_overloaded_total", "bodies"); n != 1 {
		t.Errorf("%v refusals are counted", n)
	}
	b.server.gates.bodies.Add(int64(-held))
	b.byAdmin("POST", path, list).is(200, "")
	eventually(t, "nothing of it is held", func() bool { return b.server.gates.bodies.Load() == 0 })
}

func TestALongBodyIsNotReadForSomebodyUnknown(t *testing.T) {
	b := newBench(t)
	for length, first := range map[string]string{"Content-Length: 1000000": "{",
		"Transfer-Encoding: chunked": chunk("{")} {
		c := b.connect()
		if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: "+
			"application/json\r\n%s\r\n\r\n%s", triggerPath, "vx_"+strings.Repeat("a", 32), length, first); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		status, p, last := response(t, bufio.NewReader(c)) // one byte of the body has been sent
		if status != 401 || p.Code != "unauthorized" || !last {
			t.Errorf("%s: answered %d %s after %s", length, status, p.Code, time.Since(began))
		}
	}
}

func TestEveryRouteIsOfTheIntakeThatItsNameSays(t *testing.T) {
	b := newBench(t)
	n := map[intake]int{}
	for _, rt := range b.server.routes {
		n[rt.intake]++
		switch {
		case rt.intake == intakeCalls && rt.method != nethttp.MethodPost:
			t.Errorf("%s %s adds no calls", rt.method, rt.path)
		case rt.intake == intakeCommands && slices.Contains(wire.FirstScopes, rt.access.Scope):
			t.Errorf("%s %s is sent by machines too", rt.method, rt.path)
		case rt.intake == intakeLooks && rt.method != nethttp.MethodGet:
			t.Errorf("%s %s is no look", rt.method, rt.path)
		}
	}
	if n[intakeCalls] != 4 || n[intakeWords] < 5 || n[intakeCommands] < 10 || n[intakeLooks] < 10 {
		t.Errorf("%v", n)
	}
}
