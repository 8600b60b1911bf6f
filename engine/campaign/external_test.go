package campaign

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/window"
)

func stored() Settings {
	s := Defaults()
	s.Name, s.Bot, s.Concurrency, s.ConfigURL = "n", "bot", 2, "https://example.org/c.json"
	s.Window = window.Window{Zone: "UTC", Start: 60, End: 120, Days: []window.Day{window.Mon}}
	s.Numbers = []engine.PhoneNumber{"+4930111111", "+4930111112"}
	return s
}

func document(body string) Document {
	return Document{URL: "https://example.org/c.json", Body: []byte(body), Hash: "abc", FetchedAt: m0}
}

func TestADocumentIsLaidOverTheStoredSettings(t *testing.T) {
	before := stored()
	s, x, err := Overlay(before, document(`{"concurrency":7,"abandon_cap_pct":1.5,"false_positive_share":0.02,
		"retry_on_system":["busy"],"retry_on_custom":[],"number_pool":["+4930111113"],
		"window":{"zone":"Europe/Berlin","start":"09:00","end":"18:00"},"amd":"parallel","sticky_exclusion":false}`))
	if err != nil {
		t.Fatal(err)
	}
	want := stored()
	want.Concurrency, want.AbandonCapPPM, want.FalsePositivePPM = 7, 15_000, 20_000
	want.RetryOnSystem, want.RetryOnCustom = []engine.Outcome{engine.OutcomeBusy}, []string{}
	want.Numbers, want.AMD, want.StickyExclusion = []engine.PhoneNumber{"+4930111113"}, engine.AMDParallel, false
	want.Window = window.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 18 * 60} // as a whole: the old days are dropped
	if !reflect.DeepEqual(s, want) {
		t.Errorf("\n got %+v\nwant %+v", s, want)
	}
	if x.Hash != "abc" || x.URL != before.ConfigURL || !x.FetchedAt.Equal(m0) || len(object(x.Settings)) != 9 {
		t.Errorf("%+v", x)
	}
	if !reflect.DeepEqual(before, stored()) {
		t.Error("the stored settings were changed")
	}
	if s, x, err := Overlay(stored(), document(`{}`)); err != nil || x == nil || !reflect.DeepEqual(s, stored()) {
		t.Errorf("an empty document: %v", err)
	}
}

func TestADocumentThatIsNotValidNamesEveryMistake(t *testing.T) {
	for body, want := range map[string][]string{
		`[]`: nil, `null`: nil, `{"a":`: nil, `7`: nil,
		`{"name":"x","bot_id":"y","config_url":"http://z","unknown":1}`: {"bot_id not_external", "config_url not_external",
			"name not_external", "unknown not_external"},
		`{"concurrency":"7","window":{"zone":"UTC","start":"09:00","end":"18:00","x":1},"amd":null,` +
			`"abandon_cap_pct":"3","max_lines":1.5}`: {
			"abandon_cap_pct wrong_type", "amd wrong_type", "concurrency wrong_type", "max_lines wrong_type",
			"window wrong_type"},
		`{"concurrency":0,"abandon_cap_pct":9,"number_pool":["0151"]}`: {"concurrency out_of_range",
			"abandon_cap_pct out_of_range", "number_pool[0] invalid_number"},
		`{"window":{}}`: {"window.zone unknown_zone"},
		`{"redial_only_under_s":20,"stop_redials_after_s":10}`: {"redial_only_under_s exceeds_stop_redials_after"},
	} {
		_, x, err := Overlay(stored(), document(body))
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != FailureConfigInvalid || x != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		for _, w := range want {
			field, code, _ := strings.Cut(w, " ")
			if !slices.ContainsFunc(e.Fields, func(f engine.FieldError) bool { return f.Field == field && f.Code == code }) {
				t.Errorf("%s: no %s in %+v", body, w, e.Fields)
			}
			if !strings.Contains(Failure(err), field) {
				t.Errorf("%q does not name %s", Failure(err), field)
			}
		}
	}
	// Both are validated after merging, wherever each comes from.
	merged := stored()
	merged.StopRedialsAfterSec = 10
	if _, _, err := Overlay(merged, document(`{"redial_only_under_s":20}`)); !strings.Contains(Failure(err),
		"config_url_invalid: ") || !strings.Contains(Failure(err), "redial_only_under_s") {
		t.Errorf("one of them stored, one fetched: %v", err)
	}
	if _, _, err := Overlay(merged, document(`{"redial_only_under_s":20,"stop_redials_after_s":30}`)); err != nil {
		t.Error(err)
	}
	long := `{"` + strings.Repeat("x", 5000) + `":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`
	if _, _, err := Overlay(stored(), document(long)); len(Failure(err)) > 1000 {
		t.Errorf("a reason of %d bytes", len(Failure(err)))
	}
}

func TestEverySettingButTheCampaignsOwnCanBeExternal(t *testing.T) {
	own := []string{"name", "bot_id", "config_url", "eligibility_url", "eligibility_fail",
		"recording", "recording_retention_days", // legal requirements are the operator's decision
		"amd_sensitivity", "amd_listen_ms", "amd_revise_s", "amd_review_share", "voicemail_id",
		"callback_policy", "callback_message_id",
		"cadence_id", "calendar_ids"} // name resources of the installation
	for i := range Fields {
		name := Fields[i].Name
		_, x, err := Overlay(stored(), Document{Body: []byte(`{"` + name + `":[{}]}`)})
		if x != nil || strings.Contains(Failure(err), "cannot be set by") != slices.Contains(own, name) ||
			slices.Contains(ExternalMembers(), name) == slices.Contains(own, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// configured is a Start with a document.
func configured(t *testing.T, w *world, body string) Event {
	t.Helper()
	e := Event{Kind: Start, At: w.now}
	f := PreflightFacts{BotKnown: true, Trunks: 1, Callable: true}
	return Configure(e, w.m.C, document(body), nil, f)
}

func external(s *Settings) { *s = stored() }

func TestStartTakesTheConfigurationOfTheRunFromItsURL(t *testing.T) {
	w := newWorld(t, external)
	w.must(configured(t, w, `{"concurrency":9,"single_day":true}`)).effects("Record(started) Pump")
	c := &w.m.C
	if c.State != Running || c.Settings.Concurrency != 9 || c.External == nil || c.External.Hash != "abc" ||
		c.Version != 2 || c.WindowEndsAt == nil {
		t.Errorf("%+v", c)
	}
	if changes := w.last[0].(Record).Changes; len(changes) != 2 || changes[0].Field != "concurrency" {
		t.Errorf("%+v", changes)
	}
	// Contacts are told about a new Max Attempts.
	w = newWorld(t, external)
	w.must(configured(t, w, `{"max_attempts":9}`)).effects("Retune Record(started) Pump")
}

func TestAConfigurationThatIsNotToBeHadFailsTheCampaignAtStart(t *testing.T) {
	for _, start := range []func(w *world) Event{
		func(w *world) Event { return configured(t, w, `{"concurrency":0}`) },
		func(w *world) Event {
			return Configure(Event{Kind: Start}, w.m.C, Document{}, engine.Invalid(FailureConfigUnreachable, "no route"),
				PreflightFacts{})
		},
		func(w *world) Event { return configured(t, w, `{"number_pool":[]}`) },
	} {
		w := newWorld(t, external)
		before := w.m.C.Settings
		w.must(start(w)).effects("Record(failed) CancelRinging")
		c := &w.m.C
		if c.State != Failed || !strings.HasPrefix(c.FailureReason, "config_url_") ||
			!strings.Contains(c.FailureReason, ": ") || c.External != nil || c.CompletedAt == nil {
			t.Errorf("%+v", c)
		}
		if !reflect.DeepEqual(c.Settings, before) {
			t.Error("settings of a document that is not valid were taken over")
		}
		w.must(ev(Restart), configured(t, w, `{}`)) // the next run fetches again
		if c.State != Running || c.Run != 2 || c.FailureReason != "" {
			t.Errorf("%+v", c)
		}
	}
}

func TestAnEditLeavesAloneWhatComesFromTheConfigURL(t *testing.T) {
	w := newWorld(t, external)
	w.must(configured(t, w, `{"concurrency":9,"window":{"zone":"UTC","start":"00:00","end":"00:00"}}`), ev(Pause))
	edit := func(f func(*Settings)) Event {
		s := w.m.C.Settings
		f(&s)
		return Event{Kind: Edit, Settings: &s, Version: w.m.C.Version}
	}
	e := w.refusal(edit(func(s *Settings) { s.Concurrency = 3; s.Window.Start = 60; s.MaxAttempts = 4 }),
		"externally_managed")
	if len(e.Fields) != 2 || e.Fields[0].Field != "concurrency" || e.Fields[1].Field != "window.start" {
		t.Errorf("%+v", e.Fields)
	}
	w.must(edit(func(s *Settings) { s.MaxAttempts = 4 }))
	// Once the URL is changed or removed, the settings can be edited.
	w.must(edit(func(s *Settings) { s.ConfigURL, s.Concurrency = "", 3 }))
	if w.m.C.External != nil || w.m.C.Settings.Concurrency != 3 {
		t.Errorf("%+v", w.m.C)
	}
}

func TestCancelRestartBringsTheExternalConfigurationBack(t *testing.T) {
	w := newWorld(t, external)
	w.must(configured(t, w, `{"concurrency":9}`), ev(Stop))
	x := w.m.C.External
	w.must(ev(Restart))
	s := w.m.C.Settings
	s.ConfigURL = ""
	w.must(Event{Kind: Edit, Settings: &s, Version: w.m.C.Version}, ev(CancelRestart))
	if w.m.C.External != x || w.m.C.Settings.ConfigURL == "" {
		t.Errorf("%+v", w.m.C)
	}
	if b, err := json.Marshal(w.m.C.External); err != nil || !strings.Contains(string(b), `"fetched_at"`) {
		t.Errorf("%s %v", b, err)
	}
}

// FuzzOverlay checks that an untrusted document gives either valid settings, with the campaign's
// own name and bot, that its stored form reproduces, or a short reason.
func FuzzOverlay(f *testing.F) {
	for _, s := range []string{`{}`, `{"concurrency":7,"abandon_cap_pct":1.5,` +
		`"window":{"zone":"UTC","start":"09:00","end":"10:00","days":["Mon"]}}`,
		`{"number_pool":["+4930111111"],"retry_on_system":["busy"],"pacing_mode":"x"}`, `{"name":"x"}`,
		`{"abandon_cap_pct":1e400}`, `[]`, `{"amd":null}`, `{"a":`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s, x, err := Overlay(stored(), Document{URL: "https://example.org", Body: body})
		if err != nil {
			if x != nil || len(Failure(err)) > 1000 {
				t.Fatalf("%q fails with %d bytes", body, len(Failure(err)))
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("%q gives settings that are not valid: %v", body, err)
		}
		if before := stored(); s.Name != before.Name || s.Bot != before.Bot || s.ConfigURL != before.ConfigURL {
			t.Fatalf("%q changes who the campaign is", body)
		}
		again, _, err := Overlay(stored(), Document{URL: "https://example.org", Body: x.Settings})
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%q is kept as %q, which gives other settings: %v", body, x.Settings, err)
		}
	})
}
