package webhook

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func TestAnAnswerSaysWhenAMessageIsSentAgain(t *testing.T) {
	f := func(a Answer, tries int, worked bool, chance float64, want Verdict) {
		t.Helper()
		if got := Judge(&a, tries, worked, chance); got != want {
			t.Errorf("%+v after %d: %+v, want %+v", a, tries, got, want)
		}
	}
	again := func(d time.Duration) Verdict { return Verdict{State: Pending, Wait: d} }
	for _, s := range []int{200, 201, 204, 299} {
		f(Answer{Status: s}, 1, false, 0, Verdict{State: Delivered})
	}
	for _, s := range []int{0, 100, 301, 302, 307, 400, 401, 404, 429, 500, 503} {
		f(Answer{Status: s}, 1, false, 0, again(5*time.Second))
	}
	f(Answer{Status: 410}, 1, true, 0, Verdict{State: Failed, Disable: DisabledGone})
	whole := time.Duration(0)
	for i, d := range []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour} {
		f(Answer{Status: 500}, i+1, false, 0, again(d))
		f(Answer{Status: 500}, i+1, false, 0.5, again(d+d/20))
		whole += d
	}
	if whole < 3*24*time.Hour || Tries != 10 {
		t.Errorf("given up after %v", whole)
	}
	f(Answer{Status: 500}, Tries, false, 0, Verdict{State: Failed, Disable: DisabledFailing})
	f(Answer{Status: 500}, Tries, true, 0, Verdict{State: Failed}) // its server accepts others
	for _, s := range []int{429, 502, 503, 504} {
		f(Answer{Status: s, RetryAfter: time.Hour}, 1, false, 0, again(time.Hour))
		f(Answer{Status: s, RetryAfter: time.Second}, 2, false, 0, again(5*time.Minute))
		f(Answer{Status: s, RetryAfter: 30 * 24 * time.Hour}, 1, false, 0, again(24*time.Hour))
	}
	f(Answer{Status: 500, RetryAfter: time.Hour}, 1, false, 0, again(5*time.Second))

	// Of an address that a request named, nothing is concluded about the endpoint.
	for why, want := range map[string]Verdict{DisabledGone: {State: Failed, Forget: true},
		DisabledFailing: {State: Failed, Forget: true}, "": {State: Failed}} {
		if got := (Verdict{State: Failed, Disable: why}).OfAddress(); got != want {
			t.Errorf("%q: %+v, want %+v", why, got, want)
		}
	}
}

// The test vector of the specification's own libraries.
func TestASignatureIsThatOfTheSpecification(t *testing.T) {
	secret, err := ReadSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1614265330, 0)
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`), secret); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Sign("a", at, nil, secret, secret); strings.Count(got, " ") != 1 || strings.Count(got, "v1,") != 2 {
		t.Errorf("two secrets: %q", got)
	}
	for _, bad := range []string{"", "whsec_", "whsec_####", WriteSecret(make([]byte, 23)), WriteSecret(make([]byte, 65)),
		strings.Repeat("A", 44)} {
		if _, err := ReadSecret(bad); err == nil {
			t.Errorf("%q is taken for a secret", bad)
		}
	}
}

func TestABodyStaysUnderItsCapAndSaysWhatWasLeftOut(t *testing.T) {
	vars := map[string]string{}
	for i := range 40 {
		vars[strings.Repeat("k", i+1)] = strings.Repeat("\x01", 400) // six bytes each when written
	}
	vars["short"] = "kept"
	long := strings.Repeat(`"<é`+"\u2028", 5000)
	f := Fact{Event: journal.Event{Campaign: "cmp_1", Seq: 1, Type: journal.ResultStored, Contact: "c1", Attempt: "a1"},
		Person: &contact.Contact{Variables: vars},
		Call: &attempt.Attempt{
			Result: &attempt.Result{
				Summary:        long,
				SubDisposition: long,
				TranscriptURL:  long,
				RecordingURL:   long,
				Variables:      vars,
			},
			SIPReason: long,
		}}
	f.Data.Disposition, f.Data.Reason = long, long
	check := func() {
		t.Helper()
		for _, m := range Messages(&f, Usual()) {
			var v struct {
				Data struct {
					Variables map[string]string
					Omitted   int `json:"variables_omitted"`
				}
			}
			if err := json.Unmarshal(m.Body, &v); err != nil {
				t.Fatal(err)
			}
			if len(m.Body) >= BodyCap || v.Data.Variables["short"] != "kept" || v.Data.Omitted == 0 ||
				v.Data.Omitted+len(v.Data.Variables) != len(vars) {
				t.Errorf(
					"%s: %d bytes, %d variables, %d left out",
					m.Type,
					len(m.Body),
					len(v.Data.Variables),
					v.Data.Omitted,
				)
			}
		}
	}
	check()
	f.Type, f.Data.After = journal.ContactChanged, &contact.Facts{State: contact.Failed}
	check()
	f.Type, f.Data.After, f.Data.Outcome = journal.AttemptEnded, nil, engine.OutcomeBusy
	check()
	if f.Person.Variables["short"] == "" || len(vars) != 41 {
		t.Error("the contact's own variables were changed")
	}
}

func TestWhoeverReadsAnEventMakesTheSameMessages(t *testing.T) {
	f := Fact{
		Event: journal.Event{
			Campaign: "cmp_1",
			Seq:      7,
			Run:      1,
			Type:     journal.AttemptEnded,
			Contact:  "c1",
			Attempt:  "a1",
			At:       time.Unix(5, 0),
			Data:     journal.Data{After: &contact.Facts{State: contact.Failed}},
		},
	}
	one, two := Messages(&f, Usual()), Messages(&f, Usual())
	if len(one) != 2 || one[0].ID == one[1].ID || one[0].ID != two[0].ID || one[1].ID != two[1].ID ||
		!strings.HasPrefix(one[0].ID, "msg_") {
		t.Fatalf("%+v", one)
	}
	f.Seq++
	if next := Messages(&f, Usual()); next[0].ID == one[0].ID {
		t.Error("two events make one message")
	}
}

// SEMANTICS §3: "connected until a result is stored, then completed"; connected_no_result is not
// reported before the result timeout.
func TestAnOutcomeIsToldWhenItIsFinal(t *testing.T) {
	told := func(e journal.Event) (d struct {
		Sequence int64
		Outcome  *string
		Awaiting *bool  `json:"awaiting_result"`
		Last     string `json:"last_outcome"`
		Attempt  string `json:"attempt_id"`
		Reason   string
	}, kinds []string) {
		t.Helper()
		for _, m := range Messages(&Fact{Event: e}, Usual()) {
			kinds = append(kinds, m.Type)
			var body struct{ Data json.RawMessage }
			if err := json.Unmarshal(m.Body, &body); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(body.Data, &d); err != nil {
				t.Fatal(err)
			}
		}
		return d, kinds
	}
	e := journal.Event{Campaign: "cmp_1", Contact: "c1", Attempt: "a1", Seq: 7, Type: journal.AttemptEnded,
		Data: journal.Data{Outcome: engine.OutcomeConnectedNoResult, AwaitsResult: true}}
	if d, _ := told(e); d.Outcome != nil || d.Awaiting == nil || !*d.Awaiting || d.Sequence != 7 {
		t.Errorf("its result has not come: %+v", d)
	}
	e.Data.AwaitsResult = false
	if d, _ := told(e); d.Outcome == nil || *d.Outcome != "connected_no_result" || *d.Awaiting {
		t.Errorf("nobody waits for its result: %+v", d)
	}
	e.Data.Outcome = engine.OutcomeBusy
	if d, _ := told(e); d.Outcome == nil || *d.Outcome != "busy" || *d.Awaiting {
		t.Errorf("busy is final: %+v", d)
	}
	e = journal.Event{Campaign: "cmp_1", Contact: "c1", Attempt: "a1", Seq: 8, Type: journal.ResultStored,
		Data: journal.Data{Outcome: engine.OutcomeCompleted}}
	if d, kinds := told(e); *d.Outcome != "completed" || d.Sequence != 8 ||
		!slices.Equal(kinds, []string{"result.stored"}) {
		t.Errorf("%q: %+v", kinds, d)
	}
	// However the wait ends without a result, that is reported for its attempt before the contact's
	// change.
	f := func(typ journal.Type, reason string, to contact.State, why string, want ...string) {
		t.Helper()
		e := journal.Event{
			Campaign: "cmp_1",
			Contact:  "c1",
			Seq:      9,
			Type:     typ,
			Data: journal.Data{Reason: reason, NoResult: "a1",
				Before: &contact.Facts{State: contact.Connected}, After: &contact.Facts{State: to}},
		}
		if typ == journal.AttemptReserved || typ == journal.ResultStored {
			e.Attempt = "a2"
		}
		var all []string
		for _, m := range Messages(&Fact{Event: e}, Usual()) {
			if all = append(all, m.Type); m.Type != "result.timed_out" {
				continue
			}
			var d struct{ Data contactData }
			if err := json.Unmarshal(m.Body, &d); err != nil || d.Data.Attempt != "a1" || d.Data.Reason != why ||
				d.Data.Outcome != engine.OutcomeConnectedNoResult {
				t.Errorf("%s: %+v, %v", typ, d.Data, err)
			}
		}
		if !slices.Equal(all, want) {
			t.Errorf("%s: %q, want %q", typ, all, want)
		}
	}
	f(
		journal.ContactChanged,
		journal.ReasonResultTimeout,
		contact.Failed,
		"result_timeout",
		"result.timed_out",
		"contact.failed",
	)
	f(
		journal.ContactChanged,
		journal.ReasonRestarted,
		contact.Failed,
		"restarted",
		"result.timed_out",
		"contact.failed",
	)
	f(journal.ContactExcluded, "", contact.Excluded, "excluded", "result.timed_out", "contact.excluded")
	f(journal.AttemptReserved, "", contact.Connected, "redialled", "result.timed_out")
	f(journal.ContactCallBackSet, "", contact.Connected, "call_back_set", "result.timed_out")
	f(
		journal.ResultStored,
		"",
		contact.Completed,
		"other_result",
		"result.stored",
		"result.timed_out",
		"contact.completed",
	)
}

func TestTypesAreMadeOfWhatTheyAreAbout(t *testing.T) {
	f := func(e journal.Event, want ...string) {
		t.Helper()
		var got []string
		for _, m := range Messages(&Fact{Event: e}, Usual()) {
			got = append(got, m.Type)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", e.Type, got, want)
		}
	}
	due := time.Unix(9, 0)
	facts := func(s contact.State, c contact.CallbackState) *contact.Facts {
		return &contact.Facts{State: s, Callback: c}
	}
	ended := journal.Event{Campaign: "cmp_1", Contact: "c1", Type: journal.AttemptEnded}
	f(ended, "attempt.ended")
	f(journal.Event{Type: journal.AttemptEnded}, "dialout.ended")
	ended.Data = journal.Data{Before: facts(contact.Pending, ""), After: facts(contact.Waiting, "")}
	f(ended, "attempt.ended")
	ended.Data.After = facts(contact.MachineDetected, "")
	f(ended, "attempt.ended", "contact.machine_detected")
	ended.Data.Before = facts(contact.MachineDetected, "")
	f(ended, "attempt.ended")
	result := journal.Event{
		Campaign: "cmp_1",
		Contact:  "c1",
		Type:     journal.ResultStored,
		Data: journal.Data{
			Before: facts(contact.Connected, ""),
			After:  facts(contact.Completed, contact.CallbackPending),
			DueAt:  &due,
		},
	}
	f(result, "result.stored", "contact.completed", "callback.scheduled")
	late := result // of an earlier run: another event reports the contact's present state
	late.Data.Kept, late.Data.After, late.Data.DueAt = true, facts(contact.Completed, ""), nil
	f(late, "result.stored")
	result.Data.Before = facts(contact.Completed, contact.CallbackPending) // a newer wish
	f(result, "result.stored", "callback.scheduled")
	f(
		journal.Event{
			Campaign: "cmp_1",
			Contact:  "c1",
			Type:     journal.ContactExcluded,
			Data: journal.Data{
				Before: facts(contact.Pending, contact.CallbackPending),
				After:  facts(contact.Excluded, contact.CallbackCancelled),
			},
		},
		"contact.excluded",
		"callback.cancelled",
	)
	// An attempt whose outcome no result changes is reported at its end.
	over := journal.Event{Campaign: "cmp_1", Contact: "c1", Type: journal.ContactChanged, Data: journal.Data{
		Before: facts(contact.Connected, ""), After: facts(contact.Excluded, ""), Reason: journal.ReasonResultTimeout}}
	f(over, "contact.excluded")
	over.Data.Outcome = engine.OutcomeConnectedNoResult // of the previous release
	f(over, "result.timed_out", "contact.excluded")
	f(journal.Event{Campaign: "cmp_1", Type: journal.LegAdded})
	f(journal.Event{Campaign: "cmp_1", Type: journal.CampaignEdited})
	if got := Sources([]string{"attempt.ended", "dialout.ended", "campaign.paused"}); !slices.Equal(
		got,
		[]journal.Type{journal.CampaignPaused, journal.AttemptEnded},
	) {
		t.Errorf("%q", got)
	}
}

func TestAnAddressOfARequestIsCoveredByItsHost(t *testing.T) {
	e := Endpoint{Active: true, URL: "https://CRM.example.org", Types: []string{StatusCallback}}
	f := func(e Endpoint, address string, c engine.CampaignID, want bool) {
		t.Helper()
		if got := e.Covers(address, c); got != want {
			t.Errorf("%q covers %q: %v", e.URL, address, got)
		}
	}
	f(e, "https://crm.example.org/other?x=1", "", true)
	f(e, "https://crm.example.org:443/", "cmp_1", true)
	f(e, "https://crm.example.org:8443/", "", false)
	f(e, "http://crm.example.org/", "", false)
	f(e, "https://crm.example.org.evil.example/", "", false)
	f(e, "https://evil.example/crm.example.org", "", false)
	f(e, "https://crm.example.org@evil.example/", "", false)
	f(e, "https://evil.example\\@crm.example.org/", "", false)
	f(e, "", "", false)
	bound := e
	bound.Campaigns = []engine.CampaignID{"cmp_1"}
	f(bound, "https://crm.example.org/", "cmp_1", true)
	f(bound, "https://crm.example.org/", "cmp_2", false)
	f(bound, "https://crm.example.org/", "", false)
	for _, types := range [][]string{nil, {"call.ended"}} { // it permits none
		other := e
		other.Types = types
		f(other, "https://crm.example.org/", "", false)
	}
	e.Active = false
	f(e, "https://crm.example.org/", "", false)

	m := Message{ID: "msg_1", Type: "call.ended", Subject: "c1"}
	to := m.To("https://crm.example.org/own")
	if to.ID == m.ID || to.ID != m.To("https://crm.example.org/own").ID || to.URL != "https://crm.example.org/own" {
		t.Errorf("%+v", to)
	}
	for _, c := range []struct {
		Callback
		want bool
	}{
		{Callback{Subject: "c1"}, true},
		{Callback{Subject: "c2"}, false},
		{Callback{Subject: "c1", Types: []string{"call.ended"}}, true},
		{Callback{Subject: "c1", Types: []string{"call.ringing"}}, false},
	} {
		if got := c.Wants(&m); got != c.want {
			t.Errorf("%+v: %v", c.Callback, got)
		}
	}
	if m.Type = "attempt.ended"; (&Callback{Subject: "c1"}).Wants(&m) {
		t.Error("an address of a request is told more than the progress of calls")
	}
}

// On a host that many share, the path says whose address it is: segments are compared, not letters.
func TestAnAddressOfARequestIsCoveredByItsPath(t *testing.T) {
	f := func(own, address string, want bool) {
		t.Helper()
		e := Endpoint{Active: true, URL: "https://hooks.example.org" + own, Types: []string{StatusCallback}}
		if got := e.Covers("https://hooks.example.org"+address, ""); got != want {
			t.Errorf("%q covers %q: %v", own, address, got)
		}
	}
	for _, own := range []string{"/catch/1/a", "/catch/1/a/", "/catch/1/a?zap=1", "/catch/1/%61"} {
		for _, address := range []string{"/catch/1/a", "/catch/1/a/", "/catch/1/a?order=4711", "/catch/1/a/b/c",
			"/catch/%31/a", "/catch/1/a/b..c", "/catch/1/a?next=../b"} {
			f(own, address, true)
		}
		for _, address := range []string{"", "/", "/catch/1", "/catch/1/ab", "/catch/1/b", "/catch/2/a", "/Catch/1/a",
			"/catch/1/a/../b", "/catch/1/a/%2e%2e/b", "/catch/1/a/..%2fb", "/catch/1/a/..%5cb", "/catch/1/a/..;x/b",
			"/catch/1/./a", "/catch%2f1/a", "//catch/1/a", "/x/catch/1/a"} {
			f(own, address, false)
		}
	}
	for _, own := range []string{"", "/", "?x=1"} {
		for _, address := range []string{"", "/", "/a/b", "?order=4711"} {
			f(own, address, true)
		}
	}
}

// The endpoint that a request found may be gone, or cover the address no more, when the calls come.
func TestAnAddressIsToldThroughWhicheverEndpointCoversItNow(t *testing.T) {
	list := []Endpoint{{ID: "other", URL: "https://crm.example.org/", Active: true},
		{ID: "paused", URL: "https://crm.example.org/", Types: []string{StatusCallback}},
		{ID: "first", URL: "https://crm.example.org/calls", Active: true, Types: []string{StatusCallback}},
		{ID: "second", URL: "https://crm.example.org/", Active: true, Types: []string{"call.ended", StatusCallback},
			Campaigns: []engine.CampaignID{"cmp_1"}}}
	f := func(by EndpointID, url string, c engine.CampaignID, want EndpointID) {
		t.Helper()
		got := EndpointID("")
		if e := (&Callback{Endpoint: by, URL: url}).Through(list, c); e != nil {
			got = e.ID
		}
		if got != want {
			t.Errorf("%s by %s of %q: through %q, want %q", url, by, c, got, want)
		}
	}
	const calls, rest = "https://crm.example.org/calls/7", "https://crm.example.org/else"
	f("second", calls, "cmp_1", "second")
	f("second", calls, "cmp_2", "first")
	f("first", rest, "cmp_1", "second")
	f("first", rest, "cmp_2", "")
	for _, by := range []EndpointID{"paused", "other", "deleted"} {
		f(by, calls, "", "first")
	}
	for url, want := range map[string]bool{rest: true, "https://elsewhere.example.org/": false} {
		if e, paused := Covering(list, url, "cmp_2"); e != nil || paused != want {
			t.Errorf("%s: %+v, paused %v", url, e, paused)
		}
	}
	f("first", "", "", "") // taken away
}

func TestAnEndpointIsToldOfItsTypesAndCampaigns(t *testing.T) {
	f := func(e Endpoint, m Message, want bool) {
		t.Helper()
		if got := e.Wants(m.Type, m.Campaign); got != want {
			t.Errorf("%+v of %+v: %v", e, m, got)
		}
	}
	m := Message{Type: "attempt.ended", Campaign: "cmp_1"}
	f(Endpoint{Active: true}, m, true)
	f(Endpoint{}, m, false)
	f(Endpoint{Active: true, Types: []string{"contact.failed"}}, m, false)
	f(
		Endpoint{
			Active:    true,
			Types:     []string{"contact.failed", "attempt.ended"},
			Campaigns: []engine.CampaignID{"cmp_1"},
		},
		m,
		true,
	)
	f(Endpoint{Active: true, Campaigns: []engine.CampaignID{"cmp_2"}}, m, false)
	f(Endpoint{Active: true, Campaigns: []engine.CampaignID{"cmp_1"}}, Message{Type: "dialout.ended"}, false)
	// Who names no types is told what they were told before there was a call's progress.
	for _, kind := range []string{"call.initiated", "call.ringing", "call.answered", "call.bridged", "call.ended"} {
		f(Endpoint{Active: true}, Message{Type: kind, Campaign: "cmp_1"}, false)
		f(Endpoint{Active: true, Types: []string{kind}}, Message{Type: kind, Campaign: "cmp_1"}, true)
	}
	at := time.Now()
	e := Endpoint{Disabled: DisabledGone, DisabledAt: &at}
	if e.Enable(false); e.Disabled == "" {
		t.Error("made inactive again, it forgets why it was")
	}
	if e.Enable(true); !e.Active || e.Disabled != "" || e.DisabledAt != nil {
		t.Errorf("%+v", e)
	}
}
