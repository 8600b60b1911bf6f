package process

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/sipstack"
)

type shownTrunk struct {
	ID          string
	Host        string
	Origin      string
	HasPassword bool `json:"has_password"`
	CPSCap      int  `json:"cps_cap"`
	Status      struct {
		Health   string
		Reason   string
		Share    float64    `json:"cps_share"`
		LiveLegs int        `json:"live_legs"`
		Until    *time.Time `json:"registered_until"`
		RetryAt  *time.Time `json:"retry_at"`

		CheckedAt *time.Time `json:"checked_at"`
	}
}

func (w *world) shownTrunk(id string) (s shownTrunk) {
	w.t.Helper()
	w.operator("GET", "/api/v1/trunks/"+id, nil).expect(200).into(&s)
	return s
}

func TestAChangedTrunkTakesEffectOnTheNextCallAndThePresentOneGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	behaviour := carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}, KeepInvites: true}
	first := w.carrier(behaviour)
	one := w.dialout(newNumber())
	leg := func(id engine.CallID) string { a, _ := id.Attempt(); return string(a.Leg(1)) }
	answered := func(c *carrier.Carrier, id engine.CallID) {
		t.Helper()
		eventually(t, "the call is answered", func() bool {
			row, ok := c.Ledger().Call(leg(id))
			return ok && row.State == carrier.StateAnswered && w.call(id).State == "connected"
		})
	}
	answered(first, one)
	eventually(t, "the trunk is up with one leg", func() bool {
		s := w.shownTrunk("model").Status
		return s.Health == "up" && s.Reason != "" && s.LiveLegs == 1 && s.Share == 1
	})

	second := w.carrier(behaviour) // the same trunk, at another address
	host, port, err := splitHostPort(second.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"caller_id_header": "p_asserted_identity", "privacy": "id",
		"number_format": "e164_no_plus",
		"user_agent":    "acme/7", "extra_headers": []map[string]string{{"name": "X-Account", "value": "42"}}})
	two := w.dialout(newNumber())
	answered(second, two)
	row, _ := second.Ledger().Call(leg(two))
	for _, want := range []string{"From: \"Anonymous\" <sip:anonymous@anonymous.invalid>",
		"P-Asserted-Identity: <sip:493023125", "Privacy: id",
		"User-Agent: acme/7", "X-Account: 42", "INVITE sip:4915112"} {
		if !strings.Contains(row.Invite, want) {
			t.Errorf("the INVITE has no %q", want)
		}
	}
	// The earlier call is hung up where it was placed, with nothing lost.
	w.flows(first, one, engine.LegID(leg(one)))
	if !first.HangUp(leg(one)) || !second.HangUp(leg(two)) {
		t.Fatal("a call is not there any more")
	}
	w.ended(one, engine.OutcomeCompleted)
	w.ended(two, engine.OutcomeCompleted)
	w.quiet()
	if n := w.shownTrunk("model").Status.LiveLegs; n != 0 {
		t.Errorf("%d legs are live", n)
	}
	file, roots := certificate(t)
	pair, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	own, key, _ := strings.Cut(string(pair), "-----BEGIN PRIVATE KEY")
	key = "-----BEGIN PRIVATE KEY" + key
	put := func(code string, field string, value any, more ...string) {
		t.Helper()
		body := map[string]any{"host": "192.0.2.1", field: value}
		for i := 0; i < len(more); i += 2 {
			body[more[i]] = more[i+1]
		}
		r := w.operator("PUT", "/api/v1/trunks/model", body)
		if wrong := r.status != 200; wrong != (code != "") || wrong && !strings.Contains(string(r.body), code) ||
			strings.Contains(string(r.body), "PRIVATE KEY") {
			t.Errorf("%s: %s", field, r)
		}
	}
	put("invalid_pem", "tls_roots", "no certificate")
	put("invalid_pem", "tls_certificate", own, "tls_key", "no key")
	put("invalid_pem", "tls_certificate", string(pair), "tls_key", key)
	put("invalid_pem", "tls_certificate", roots, "tls_key", key)
	put("", "tls_certificate", own, "tls_key", key)
	put("", "tls_certificate", own)
	put("invalid_pem", "tls_certificate", roots)
	put("unknown_listener", "listener", "nowhere")
	put("unavailable_family", "media", map[string]any{"family": "ipv6"})
	w.operator("DELETE", "/api/v1/trunks/model", nil).expect(204)
	w.operator("GET", "/api/v1/trunks/model", nil).expect(404)
}

func TestARegisteredTrunkShowsUntilWhenItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	if s := w.shownTrunk("model").Status; s.Until != nil {
		t.Errorf("without a registration: %v", s.Until)
	}
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"kind": "registered", "username": "acme", "password": "wonderland"})
	eventually(t, "the registration is shown", func() bool {
		s := w.shownTrunk("model").Status
		return s.Health == "up" && s.Until != nil && s.Until.After(time.Now())
	})
	w.ended(w.dialout(newNumber()), engine.OutcomeCompleted)
}

func TestTrunksOfTheFileAreAppliedAtTheStartAndAtASignal(t *testing.T) {
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	t.Setenv("ACME_SECRET", "wonderland")
	w.trunk("by-api", "192.0.2.7", 5060, map[string]any{"active": false})
	model, err := carrier.Start(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}, Media: true,
		KeepInvites: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	host, port, _ := strings.Cut(model.Addr(), ":")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(w.flags.ConfigPath, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.flags.ConfigPath = trunksFile(t, "")
	entry := "  - {id: by-file, host: " + host + ", port: " + port +
		", username: acme, password_env: ACME_SECRET, cps_cap: "
	listeners := "sip-listeners:\n  - {name: inside, address: \"127.0.0.1:0\"}\n  - {name: outside, address: " +
		"\"127.0.0.1:0\", external: 203.0.113.7}\n"
	write(listeners + "trunks:\n" + entry + "20, listener: outside}\n")
	w.restart()
	if s := w.shownTrunk("by-file"); s.Origin != "file" || !s.HasPassword || s.CPSCap != 20 {
		t.Fatalf("%+v", s)
	}
	if s := w.shownTrunk("by-api"); s.Origin != "api" || s.Host != "192.0.2.7" {
		t.Errorf("%+v", s)
	}
	call := w.dialout(newNumber())
	w.ended(call, engine.OutcomeCompleted)
	_, outside, _ := strings.Cut(w.p.sip.ListenerAddr("outside", sipstack.UDP), ":")
	a, _ := call.Attempt()
	if row, _ := model.Ledger().Call(string(a.Leg(1))); !strings.Contains(row.Invite,
		"Via: SIP/2.0/UDP 203.0.113.7:"+outside+";") {
		t.Errorf("not from the listener that the trunk chose: %.200s", row.Invite)
	}

	write("trunks:\n" + entry + "33}\n")
	if _, err := w.p.Reload(context.Background(), w.flags); err != nil {
		t.Fatal(err)
	}
	if s := w.shownTrunk("by-file"); s.CPSCap != 33 || !s.HasPassword {
		t.Errorf("%+v", s)
	}
	changes := w.rows("events")
	if _, err := w.p.Reload(context.Background(), w.flags); err != nil || w.rows("events") != changes {
		t.Errorf("the same file again: %v, %d events after %d", err, w.rows("events"), changes)
	}
	write("trunks:\n" + entry + "0}\n")
	if _, err := w.p.Reload(context.Background(), w.flags); err == nil ||
		!strings.Contains(err.Error(), "trunks[0] (by-file): cps_cap") {
		t.Errorf("%v", err)
	}
	write("trunks:\n" + entry + "5, listener: nowhere}\n")
	if _, err := w.p.Reload(context.Background(), w.flags); err == nil ||
		!strings.Contains(err.Error(), "trunks[0] (by-file): listener: ") {
		t.Errorf("%v", err)
	}
	if s := w.shownTrunk("by-file"); s.CPSCap != 33 {
		t.Errorf("%+v", s)
	}
	if r := w.operator("DELETE", "/api/v1/trunks/by-file", nil); r.status != 409 || r.code() != "trunk_of_file" {
		t.Errorf("deleted: %s", r)
	}
	write("log-level: info\n")
	if _, err := w.p.Reload(context.Background(), w.flags); err != nil {
		t.Fatal(err)
	}
	if s := w.shownTrunk("by-file"); s.Origin != "api" || s.CPSCap != 33 || !s.HasPassword {
		t.Errorf("a trunk that is no longer in the file: %+v", s)
	}
	w.operator("DELETE", "/api/v1/trunks/by-file", nil).expect(204)
}

func TestASignedCallerIDReachesTheCarrierAndItsAttestationIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	callee := person(50 * time.Millisecond)
	callee.Headers = map[string]string{"P-Attestation-Indicator": "A"}
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{callee}, KeepInvites: true})
	identity := "eyJhbGciOiJFUzI1NiJ9.eyJhdHRlc3QiOiJBIn0." + strings.Repeat("c2ln", 100) +
		`;info=<https://cert.example/a.pem>;alg=ES256;ppt="shaken"`
	w.hidden = append(w.hidden, "eyJhbGciOiJFUzI1NiJ9")
	body := map[string]any{"bot_id": ourBot, "to_number": newNumber(),
		"variables": map[string]any{"name": "Ada", "sip_identity": identity}}
	var rep struct {
		CallID engine.CallID `json:"call_id"`
	}
	w.crm("POST", "/api/v1/sip/dialout", body).expect(201).into(&rep)
	w.ended(rep.CallID, engine.OutcomeCompleted)
	a := w.stored(rep.CallID)
	row, _ := model.Ledger().Call(string(a.ID.Leg(1)))
	if !strings.Contains(row.Invite, "\r\nIdentity: "+identity+"\r\n") {
		t.Errorf("the INVITE has no such Identity header")
	}
	var shown struct{ Attestation string }
	w.crm("GET", "/api/v1/calls/"+string(rep.CallID), nil).expect(200).into(&shown)
	if a.Attestation != "A" || shown.Attestation != "A" {
		t.Errorf("attestation %q is stored, %q shown", a.Attestation, shown.Attestation)
	}
	told := w.session(rep.CallID, "begun", func(s bot.Session) bool { return s.Parameters != nil }).Parameters
	if _, ok := told["sip_identity"]; ok || told["name"] != "Ada" {
		t.Errorf("the bot is told %d parameters, the signature among them: %v", len(told), ok)
	}
	body["variables"] = map[string]any{"sip_identity": "a\r\nVia: b"}
	if r := w.crm("POST", "/api/v1/sip/dialout", body); r.status != 422 ||
		!strings.Contains(string(r.body), "invalid_identity") {
		t.Errorf("two lines: %s", r)
	}
	body["variables"] = map[string]any{"sip_identity": strings.Repeat("x", 4097)}
	if r := w.crm("POST", "/api/v1/sip/dialout", body); r.status != 422 ||
		!strings.Contains(string(r.body), "variables.sip_identity") {
		t.Errorf("4097 bytes: %s", r)
	}
}

// trunksFile makes a configuration file with the given text.
func trunksFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dialler.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
