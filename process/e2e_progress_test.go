package process

import (
	"encoding/json"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/campaign"
)

// progressNames are the types that tell a call's progress.
var progressNames = []string{"call.initiated", "call.ringing", "call.answered", "call.bridged", "call.ended"}

// progress is a message about a call.
type progress struct {
	Type      string
	Timestamp time.Time
	Data      struct {
		Sequence  int64
		AttemptID engine.AttemptID `json:"attempt_id"`
		CallID    engine.CallID    `json:"call_id"`
		ContactID engine.ContactID `json:"contact_id"`
		To        string           `json:"to_number"`
		RingingAt *time.Time       `json:"ringing_at"`
		Outcome   *engine.Outcome
	}
	of *toldOf
}

// progressOf returns what came about the calls to a number, by its sequence: each message once.
func (c *integrator) progressOf(to string) (list []progress) {
	seen := map[string]bool{}
	for _, r := range c.all() {
		p := progress{of: &r}
		if err := json.Unmarshal(r.Body, &p); err != nil || p.Data.To != to || seen[r.id()] {
			continue
		}
		seen[r.id()] = true
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b progress) int { return int(a.Data.Sequence - b.Data.Sequence) })
	return list
}

// stages are the types of what came about the calls to a number, in the order of the sequence.
func (c *integrator) stages(to string) string {
	var out []string
	for _, p := range c.progressOf(to) {
		out = append(out, strings.TrimPrefix(p.Type, "call."))
	}
	return strings.Join(out, " ")
}

// An integrator follows calls of a campaign and outside while they are under way: it is told that a phone rings
// while it rings.
func TestTheProgressOfACallIsToldWhileItIsUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{webhookEvery: 50 * time.Millisecond}, 100*time.Millisecond)
	single, triggered, busy := newNumber(), newNumber(), newNumber()
	model := w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(single): {person(time.Hour)}, engine.PhoneNumber(triggered): {person(time.Hour)},
		engine.PhoneNumber(busy): {carrier.Busy()}}})
	in, usual := newIntegrator(t), newIntegrator(t)
	_, secret := w.hook(in.URL, map[string]any{"types": progressNames})
	w.hook(usual.URL, nil)
	id := w.running(map[string]any{"max_attempts": 1, "concurrency": 4})
	w.trigger(id, triggered, nil)
	w.trigger(id, busy, nil)
	w.dialout(single)
	for _, to := range []string{single, triggered} {
		eventually(t, "it is told that the phone rings, while it rings", func() bool {
			return in.stages(to) == "initiated ringing"
		})
		rings := in.progressOf(to)[1]
		if at := rings.Data.RingingAt; at == nil || !at.Equal(rings.Timestamp) {
			t.Errorf("%s", rings.of.Body)
		}
		if !model.Answer(string(rings.Data.AttemptID.Leg(1))) {
			t.Fatal("it does not ring any more")
		}
	}
	for _, to := range []string{single, triggered} {
		eventually(t, "everything is told", func() bool {
			return in.stages(to) == "initiated ringing answered bridged ended"
		})
		list := in.progressOf(to)
		signed := make([]*toldOf, len(list))
		for i, p := range list {
			if signed[i] = p.of; p.Data.CallID != list[0].Data.CallID || i > 0 && p.Timestamp.Before(list[i-1].Timestamp) {
				t.Errorf("%s", p.of.Body)
			}
		}
		if got := verified(t, secret, signed...); !slices.Equal(got, progressNames) {
			t.Errorf("verified as %q", got)
		}
	}
	eventually(t, "the busy one's end is told", func() bool { return in.stages(busy) == "initiated ended" })
	if o := in.progressOf(busy)[1].Data.Outcome; o == nil || *o != engine.OutcomeBusy {
		t.Errorf("outcome %v", o)
	}
	eventually(t, "the usual endpoint is told of the ends", func() bool {
		return usual.first("dialout.ended", single) != nil && usual.first("attempt.ended", triggered) != nil
	})
	for _, r := range usual.all() {
		if strings.HasPrefix(r.kind(), "call.") {
			t.Errorf("who names no types is told %s", r.kind())
		}
	}
	w.act(id, "stop").expect(200)
}

// The process is killed while phones ring, with nothing delivered. What was durable is told by the next process, and
// then how the calls ended.
func TestTheProgressOfACallOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	single, triggered := newNumber(), newNumber()
	w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(single): {person(time.Hour)}, engine.PhoneNumber(triggered): {person(time.Hour)}}})
	in := newIntegrator(t)
	hang := make(chan struct{})
	defer close(hang)
	in.answers(func(nethttp.ResponseWriter, *toldOf) { <-hang })
	w.hook(in.URL, map[string]any{"types": progressNames})
	id := w.running(map[string]any{"max_attempts": 1})
	w.p.Close()
	w.tampered = true // no audit while another process runs
	w.flags.SIP = "127.0.0.1:" + strconv.Itoa(ports.Of(t))
	first := w.another()
	eventually(t, "the first call is placed", func() bool { // its trunk and bot were probed
		return w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": single}).status == 201
	})
	w.trigger(id, triggered, nil)
	eventually(t, "that both ring is durable", func() bool { return w.rows("events WHERE type = 'attempt.ringing'") == 2 })
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	<-first.read
	in.forget() // what came and was not answered proves nothing
	in.answers(func(rw nethttp.ResponseWriter, _ *toldOf) { rw.WriteHeader(nethttp.StatusNoContent) })
	w.start()
	for _, to := range []string{single, triggered} {
		eventually(t, "the rest is told", func() bool { return in.stages(to) == "initiated ringing ended" })
		if list := in.progressOf(to); list[2].Data.CallID != list[0].Data.CallID || list[2].Data.Outcome == nil {
			t.Errorf("%s", list[2].of.Body)
		}
	}
	w.tampered = false
	w.act(id, "stop").expect(200)
}

// A dialout and a trigger name addresses of their own on a host that a webhook allows; its secret signs what comes
// there. An address elsewhere is refused, the log holds none, and an erasure forgets it.
func TestACallIsToldToTheAddressThatItsRequestNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{webhookEvery: 50 * time.Millisecond}, 100*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	in, other := newIntegrator(t), newIntegrator(t)
	hook, secret := w.hook(in.URL+"/base", map[string]any{"types": []string{"status_callback"}})
	w.hook(other.URL, map[string]any{"types": []string{"call.ended"}})
	id := w.running(map[string]any{"max_attempts": 1})
	single, later, triggered, untold, queued := newNumber(), newNumber(), newNumber(), newNumber(), newNumber()
	cancelled, repeated := newNumber(), newNumber()
	address := func(name string) string { return in.URL + "/base/own?token=hush-" + name }
	w.hidden = append(w.hidden, "hush-")
	dialout := func(to string, fields map[string]any) map[string]any {
		body := map[string]any{"bot_id": ourBot, "to_number": to}
		for k, v := range fields {
			body[k] = v
		}
		return body
	}
	for _, elsewhere := range []string{other.URL + "/base/own", in.URL + "/own", in.URL + "/base/../own"} {
		refused := w.crm("POST", "/api/v1/sip/dialout", dialout(single,
			map[string]any{"status_callback": elsewhere})).expect(422)
		if !strings.Contains(string(refused.body), "not_allowed") {
			t.Errorf("%s: %s", elsewhere, refused.body)
		}
	}
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": triggered,
		"status_callback": other.URL}).expect(422)
	if n := w.rows("attempts") + w.rows("contacts"); n != 0 {
		t.Fatalf("%d rows of what was refused", n)
	}

	w.crm("POST", "/api/v1/sip/dialout", dialout(single, map[string]any{"status_callback": address("single")})).expect(201)
	w.crm("POST", "/api/v1/sip/dialout", dialout(later, map[string]any{"status_callback": address("later"),
		"not_before": time.Now().Add(time.Second).Format(time.RFC3339Nano)})).expect(202)
	var scheduled campaign.DialoutReply
	w.crm("POST", "/api/v1/sip/dialout", dialout(cancelled, map[string]any{"status_callback": address("cancelled"),
		"not_before": time.Now().Add(time.Hour).Format(time.RFC3339Nano)})).expect(202).into(&scheduled)
	w.crm("DELETE", "/api/v1/calls/"+string(scheduled.CallID), nil).expect(200)
	w.dialout(untold)
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": triggered,
		"status_callback":        address("triggered"),
		"status_callback_events": []string{"call.answered", "call.ended"}}).expect(200)
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": queued,
		"status_callback": address("queued"), "not_before": time.Now().Add(time.Second).Format(time.RFC3339Nano)}).expect(200)
	for name, want := range map[string]struct{ to, stages string }{
		"queued":    {queued, "initiated ringing answered bridged ended"},
		"single":    {single, "initiated ringing answered bridged ended"},
		"later":     {later, "initiated ringing answered bridged ended"},
		"triggered": {triggered, "answered ended"},
		"cancelled": {cancelled, "ended"}, // it was never placed
	} {
		eventually(t, name+" is told", func() bool { return in.stages(want.to) == want.stages })
		var signed []*toldOf
		for _, p := range in.progressOf(want.to) {
			if signed = append(signed, p.of); p.of.Path != strings.TrimPrefix(address(name), in.URL) {
				t.Errorf("%s came to %s", name, p.of.Path)
			}
		}
		for _, got := range verified(t, secret, signed...) {
			if !strings.HasPrefix(got, "call.") {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	eventually(t, "the others are told too", func() bool { return other.stages(untold) == "ended" })
	for _, r := range in.all() {
		if r.Path == "/base" || strings.Contains(string(r.Body), untold) {
			t.Errorf("%s was told %s", r.Path, r.Body)
		}
	}
	var log struct {
		Deliveries []struct {
			Type string
			Own  bool             `json:"own_address"`
			Of   engine.AttemptID `json:"attempt_id"`
		}
	}
	w.operator("GET", "/api/v1/webhooks/"+hook+"/deliveries", nil).expect(200).into(&log)
	if len(log.Deliveries) != 18 {
		t.Errorf("%d in the log", len(log.Deliveries))
	}
	for _, d := range log.Deliveries {
		if !d.Own || d.Of == "" {
			t.Errorf("the log has %+v", d)
		}
	}
	for _, to := range []string{single, triggered, queued} {
		w.operator("DELETE", "/api/v1/persons/"+to, nil).expect(200)
	}
	if n := w.rows("webhook_callbacks"); n != 2 {
		t.Errorf("%d addresses are left after three of five persons were erased", n)
	}

	// While the webhook is inactive no refusal is kept: the same request is carried out once it is active again.
	again := func(active bool) answer {
		w.operator("PATCH", "/api/v1/webhooks/"+hook, map[string]any{"is_active": active}).expect(200)
		return w.crm("POST", "/api/v1/sip/dialout", dialout(repeated, map[string]any{"status_callback": address("repeated")}),
			"Idempotency-Key", "repeated")
	}
	if a := again(false); a.status != 503 || a.code() != "webhook_inactive" {
		t.Errorf("%s", a)
	}
	again(true).expect(201)
	eventually(t, "it is told", func() bool { return strings.HasSuffix(in.stages(repeated), "ended") })
	w.act(id, "stop").expect(200)
}
