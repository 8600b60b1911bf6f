package process

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/webhook"
)

// toldOf is one request to an endpoint.
type toldOf struct {
	Path   string // with its query
	Header nethttp.Header
	Body   []byte
}

func (r *toldOf) id() string { return r.Header.Get(webhook.HeaderID) }

func (r *toldOf) kind() string {
	var m struct{ Type string }
	_ = json.Unmarshal(r.Body, &m)
	return m.Type
}

// integrator is an integration's server.
type integrator struct {
	*httptest.Server
	mu     sync.Mutex
	got    []toldOf
	answer func(nethttp.ResponseWriter, *toldOf)
}

func newIntegrator(t *testing.T) *integrator {
	t.Helper()
	c := &integrator{answer: func(w nethttp.ResponseWriter, _ *toldOf) { w.WriteHeader(nethttp.StatusNoContent) }}
	c.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, req *nethttp.Request) {
		body, _ := io.ReadAll(req.Body)
		r := toldOf{Path: req.URL.RequestURI(), Header: req.Header.Clone(), Body: body}
		c.mu.Lock()
		c.got = append(c.got, r)
		answer := c.answer
		c.mu.Unlock()
		answer(w, &r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *integrator) all() []toldOf {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// forget drops what came so far.
func (c *integrator) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = nil
}

// first returns the first message of a type whose body contains the text.
func (c *integrator) first(kind, text string) *toldOf {
	for _, r := range c.all() {
		if r.kind() == kind && strings.Contains(string(r.Body), text) {
			return &r
		}
	}
	return nil
}

func (c *integrator) answers(f func(nethttp.ResponseWriter, *toldOf)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = f
}

// hook adds an endpoint and gives its identifier and secret.
func (w *world) hook(url string, fields map[string]any) (id, secret string) {
	w.t.Helper()
	body := map[string]any{"url": url}
	for k, v := range fields {
		body[k] = v
	}
	var made struct{ ID, Secret string }
	w.operator("POST", "/api/v1/webhooks", body).expect(201).into(&made)
	w.hidden = append(w.hidden, made.Secret)
	return made.ID, made.Secret
}

// verified has another language's reference library verify deliveries.
func verified(t *testing.T, secret string, list ...*toldOf) (kinds []string) {
	t.Helper()
	type delivery struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	var in []delivery
	for _, r := range list {
		d := delivery{Secret: secret, Headers: map[string]string{}, Body: string(r.Body)}
		for _, h := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
			d.Headers[h] = r.Header.Get(h)
		}
		in = append(in, d)
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node(t), filepath.Join(consoleDir, "e2e", "standardwebhooks.mjs"))
	cmd.Stdin = bytes.NewReader(text)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v (make console installs its libraries)\n%s", err, errs.String())
	}
	if err := json.Unmarshal(out, &kinds); err != nil {
		t.Fatal(err)
	}
	return kinds
}

// The events of a campaign and a dialout are delivered, and the reference libraries of Standard
// Webhooks for Go and for Node.js accept them.
func TestIntegratorsAreToldAndTheirLibrariesVerifyIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{webhookEvery: 50 * time.Millisecond}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	in := newIntegrator(t)
	hook, secret := w.hook(in.URL+"/in", nil)
	to := newNumber()
	id := w.campaign(map[string]any{"max_attempts": 1, "concurrency": 2})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []map[string]any{{"mobile": to,
			"metadata": map[string]string{"name": "Ada", "sip_identity": "signed"}}}}).expect(200)
	w.act(id, "start").expect(200)
	single := newNumber()
	call := w.dialout(single)
	w.ended(call, engine.OutcomeCompleted)
	kinds := []string{"campaign.started", "attempt.ended", "result.stored", "contact.completed", "campaign.completed",
		"dialout.ended"}
	eventually(t, "everything is told", func() bool {
		for _, k := range kinds {
			if in.first(k, "") == nil {
				return false
			}
		}
		return true
	})
	list := make([]*toldOf, len(kinds))
	for i, k := range kinds {
		list[i] = in.first(k, "")
	}
	peer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		if err := peer.Verify(r.Body, r.Header); err != nil {
			t.Errorf("%s: %v", kinds[i], err)
		}
		if r.Header.Get("Content-Type") != "application/json" || len(r.Body) >= webhook.BodyCap {
			t.Errorf("%s: %v", kinds[i], r.Header)
		}
	}
	if got := verified(t, secret, list...); !slices.Equal(got, kinds) {
		t.Errorf("in Node.js: %q", got)
	}
	forged := *list[1]
	forged.Body = bytes.Replace(forged.Body, []byte(to), []byte(newNumber()), 1)
	if got := verified(t, secret, &forged); !strings.Contains(got[0], "WebhookVerificationError") ||
		peer.Verify(forged.Body, forged.Header) == nil {
		t.Errorf("a forged one: %q", got)
	}
	for kind, number := range map[string]string{"attempt.ended": to, "contact.completed": to, "dialout.ended": single} {
		if in.first(kind, `"`+number+`"`) == nil {
			t.Errorf("%s has no number", kind)
		}
	}
	if in.first("contact.completed", `"name":"Ada"`) == nil || in.first("contact.completed", "sip_identity") != nil {
		t.Error("variables of the contact")
	}
	eventually(t, "the log has it", func() bool {
		var log struct {
			Deliveries []struct{ State, Type string }
		}
		w.operator("GET", "/api/v1/webhooks/"+hook+"/deliveries?state=delivered", nil).expect(200).into(&log)
		told := map[string]bool{} // a delivery with a late answer is repeated
		for _, r := range in.all() {
			told[r.id()] = true
		}
		return len(log.Deliveries) == len(told) && len(told) >= len(kinds)
	})
	if w.labelled("dialler_webhook_tries_total", "result", "delivered") < float64(len(kinds)) {
		t.Error("figures of deliveries")
	}
	w.quiet()
}

// A process that is killed after it has answered a command, and in the middle of a delivery, has
// lost nothing: every message is delivered, and the interrupted one is repeated unchanged.
func TestAKillBetweenCommitAndDeliveryLosesNoMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	in := newIntegrator(t)
	hang := make(chan struct{})
	defer close(hang)
	in.answers(func(_ nethttp.ResponseWriter, _ *toldOf) { <-hang })
	id := w.running(map[string]any{"max_attempts": 1})
	w.hook(in.URL, map[string]any{"types": []string{"campaign.paused", "campaign.resumed"}})
	w.p.Close()
	w.tampered = true // no audit while another process runs
	first := w.another()
	w.act(id, "pause").expect(200)
	eventually(t, "the first is being delivered", func() bool { return len(in.all()) == 1 })
	w.act(id, "resume").expect(200)
	w.act(id, "pause").expect(200)
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	<-first.read
	in.answers(func(rw nethttp.ResponseWriter, _ *toldOf) { rw.WriteHeader(nethttp.StatusOK) })
	w.start()
	eventually(t, "every message has come", func() bool {
		n := map[string]int{}
		seen := map[string]bool{}
		for _, r := range in.all() {
			if !seen[r.id()] {
				seen[r.id()] = true
				n[r.kind()]++
			}
		}
		return n["campaign.paused"] == 2 && n["campaign.resumed"] == 1
	})
	eventually(t, "the message whose delivery was cut off comes again", func() bool {
		all, came := in.all(), 0
		for _, r := range all {
			if r.id() == all[0].id() {
				came++
			}
		}
		return came >= 2
	})
	w.act(id, "stop").expect(200)
}

// No private address is reached unless that is allowed.
func TestAWebhookReachesNoPrivateNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{webhookEvery: 50 * time.Millisecond}, 0)
	in := newIntegrator(t)
	hook, _ := w.hook(strings.Replace(in.URL, "127.0.0.1", "localhost", 1), nil)
	w.flags.WebhookAllowPrivate = false
	w.restart()
	w.operator("POST", "/api/v1/webhooks", map[string]any{"url": in.URL}).expect(422)
	w.operator("POST", "/api/v1/webhooks/"+hook+"/test", nil).expect(202)
	eventually(t, "the log says why", func() bool {
		var log struct {
			Deliveries []struct{ State, Type, Problem string }
		}
		w.operator("GET", "/api/v1/webhooks/"+hook+"/deliveries", nil).expect(200).into(&log)
		return len(log.Deliveries) == 1 && log.Deliveries[0].State == "pending" &&
			log.Deliveries[0].Problem == "address_forbidden"
	})
	if n := len(in.all()); n != 0 {
		t.Errorf("%d requests came through", n)
	}
}
