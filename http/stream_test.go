package http

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

const (
	livePath    = "/api/v1/campaigns/cmp_1/live"
	listPath    = "/api/v1/live"
	testTimeout = time.Minute
)

func (s *stage) beats() { s.hand(s.beat) }

func TestAStreamBeginsWithWhatGETShows(t *testing.T) {
	s := newStage(t)
	v := s.watch(livePath)
	e := v.gets("snapshot")
	if get := s.byAdmin("GET", "/api/v1/campaigns/cmp_1", "").is(200, ""); e.data != string(get.body) || e.id == "" {
		t.Errorf("snapshot %+v, GET %s", e, get.body)
	}
	// A later client gets the current state, not the one first shown.
	s.clock.advance(time.Hour)
	s.ticks()
	s.ticks()
	late := s.watch(livePath).gets("snapshot")
	if get := s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""); late.data != string(get.body) || late.id != e.id {
		t.Errorf("snapshot %+v, GET %s", late, get.body)
	}
	// Both continue from their state.
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 5 })
	s.ticks()
	v.gets("delta")
	v.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
}

func TestDeltasMakeTheSnapshotWhatGETShows(t *testing.T) {
	s := newStage(t)
	v := s.watch(livePath)
	v.gets("snapshot")
	f := func(change func(*campaign.Detail)) event {
		t.Helper()
		s.changes("cmp_1", change)
		s.ticks()
		e := v.gets("delta")
		v.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
		return e
	}
	e := f(func(d *campaign.Detail) { d.Counters.Connected, d.Live.Ringing = 3, 2 })
	if want := `{"counters":{"connected":3},"live":{"at":"2030-03-01T12:00:01Z","ringing":2}}`; e.data != want {
		t.Errorf("delta %s, want %s", e.data, want)
	}
	rate := 0.25
	f(func(d *campaign.Detail) {
		d.Counters.AnswerRate = &rate
		d.Counters.States = map[contact.State]int{"pending": 2, "completed": 1}
	})
	f(func(d *campaign.Detail) { d.Counters.States = map[contact.State]int{"completed": 3} })
	f(func(d *campaign.Detail) { d.Counters.AnswerRate, d.Live.LastDialAt = nil, nil })
	f(func(d *campaign.Detail) { d.Live, d.Campaign.State = nil, campaign.Completed })
	f(func(d *campaign.Detail) { d.Live = &campaign.Live{Ringing: 1, Why: campaign.Why{Explanation: "<3>"}} })
	f(func(d *campaign.Detail) {
		d.Campaign.Settings.Numbers = []engine.PhoneNumber{"+493023125000", "+493023125001"}
	})
	f(func(d *campaign.Detail) { d.Campaign.Settings.Numbers = nil })
}

// The passing of time alone is not a change: an idle campaign is silent.
func TestTheTimeOfDayAloneIsNoDelta(t *testing.T) {
	for _, path := range []string{livePath, listPath} {
		t.Run(path, func(t *testing.T) {
			s := newStage(t)
			v := s.watch(path)
			first := v.gets("snapshot")
			for range 20 {
				s.clock.advance(time.Second)
				s.ticks()
			}
			s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 9 })
			s.ticks()
			if e := v.gets("delta"); e.id != next(first.id) {
				t.Errorf("id %s after %s", e.id, first.id)
			}
		})
	}
}

// next returns the id of the next state.
func next(id string) string {
	epoch, n, _ := strings.Cut(id, "-")
	var state int
	_, _ = fmt.Sscan(n, &state)
	return fmt.Sprintf("%s-%d", epoch, state+1)
}

func TestTheListIsKeyedByCampaign(t *testing.T) {
	s := newStage(t)
	v := s.watch(listPath)
	v.gets("snapshot")
	sees := func(ids ...string) {
		t.Helper()
		got := v.has.(map[string]any)
		if got["total"] != float64(len(ids)) {
			t.Errorf("total %v", got["total"])
		}
		campaigns := got["campaigns"].(map[string]any)
		if len(campaigns) != len(ids) {
			t.Errorf("%d campaigns", len(campaigns))
		}
		for _, id := range ids {
			(&viewer{t: t, has: campaigns[id]}).sees(s.byAdmin("GET", "/api/v1/campaigns/"+id, ""))
		}
	}
	sees("cmp_1")
	s.ports.mu.Lock()
	two := detail("cmp_2", campaign.Settings{Name: "winter"}, campaign.Draft)
	two.Live = nil
	s.shows["cmp_2"] = &two
	s.ports.mu.Unlock()
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 7 })
	s.ticks()
	v.gets("delta")
	sees("cmp_1", "cmp_2")
	s.changes("cmp_2", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	if e := v.gets("delta"); e.data != `{"campaigns":{"cmp_2":{"counters":{"total":1}}}}` {
		t.Errorf("delta %s", e.data)
	}
	sees2 := v.has.(map[string]any)["campaigns"].(map[string]any)
	if len(sees2) != 2 {
		t.Errorf("%d campaigns", len(sees2))
	}
	s.ports.mu.Lock()
	delete(s.shows, "cmp_1")
	s.ports.mu.Unlock()
	s.ticks()
	if e := v.gets("delta"); e.data != `{"campaigns":{"cmp_1":null},"total":1}` {
		t.Errorf("delta %s", e.data)
	}
	sees("cmp_2")
}

func TestSilenceIsBrokenByHeartbeats(t *testing.T) {
	s := newStage(t)
	if 2*s.server.feeds.Heartbeat >= 10*time.Second {
		t.Error("a silence can last ten seconds")
	}
	v := s.watch(livePath)
	v.gets("snapshot")
	s.beats() // something was sent in this time
	s.beats()
	if e := v.event(); e.comment != "heartbeat" {
		t.Errorf("%+v", e)
	}
	s.beats()
	if e := v.event(); e.comment != "heartbeat" {
		t.Errorf("%+v", e)
	}
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	v.gets("delta")
	s.beats()
	s.beats()
	if e := v.event(); e.comment != "heartbeat" {
		t.Errorf("%+v", e)
	}
}

func TestAReconnectGoesOnWhereTheClientWas(t *testing.T) {
	s := newStage(t)
	stays := s.watch(livePath)
	stays.gets("snapshot")
	count := func(n int) {
		t.Helper()
		s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = n })
		s.ticks()
		stays.gets("delta")
	}
	v := s.watch(livePath)
	v.gets("snapshot")
	count(1)
	v.gets("delta")
	_ = v.conn.Close()

	again := func(fields ...string) *viewer {
		t.Helper()
		w := s.watch(livePath, fields...)
		w.has = v.has
		return w
	}
	// Nothing happened meanwhile, which is confirmed at once.
	w := again("Last-Event-ID", v.last)
	if e := w.gets("delta"); e.data != "{}" || e.id != v.last {
		t.Errorf("%+v", e)
	}
	count(2)
	count(3)
	w.gets("delta")
	w.gets("delta")
	_ = w.conn.Close()
	// Two deltas behind.
	w = again("Last-Event-ID", v.last)
	w.gets("delta")
	w.gets("delta")
	w.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
	_ = w.conn.Close()

	// By parameter; if both are given, the header is the newer one.
	e := s.watch(livePath + "?last_event_id=" + w.last).gets("delta")
	if e.data != "{}" {
		t.Errorf("%+v", e)
	}
	if e := s.watch(livePath+"?last_event_id=x", "Last-Event-ID", w.last).gets("delta"); e.data != "{}" {
		t.Errorf("%+v", e)
	}

	// States that are no longer kept, or never existed.
	for n := range 30 {
		count(100 + n)
	}
	epoch, _, _ := strings.Cut(v.last, "-")
	for _, id := range []string{v.last, "x-1", epoch + "-0", epoch + "-99999", epoch + "-x", epoch, "-1",
		strings.Repeat("9", 100)} {
		s.watch(livePath, "Last-Event-ID", id).gets("snapshot")
	}
	s.refused(422, "validation_failed", livePath+"?last_event_id=1&x=1", "Authorization", "Bearer "+s.admin)
}

// When its last client leaves, a feed stops querying; its state serves a client that returns soon.
func TestNothingIsAskedWhileNobodyWatches(t *testing.T) {
	s := newStage(t)
	var viewers []*viewer
	for range 5 {
		v := s.watch(livePath)
		v.gets("snapshot")
		viewers = append(viewers, v)
	}
	if n := s.looked(); n != 1 {
		t.Errorf("%d looks for five clients", n)
	}
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	for _, v := range viewers {
		v.gets("delta")
		_ = v.conn.Close()
	}
	if n := s.looked(); n != 2 {
		t.Errorf("%d looks for one second of five clients", n)
	}
	feed := s.feed("campaign cmp_1")
	s.quiet()
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 2 })
	back := s.watch(livePath, "Last-Event-ID", viewers[0].last)
	back.has = viewers[0].has
	back.gets("delta")
	back.sees(s.byAdmin("GET", "/api/v1/campaigns/cmp_1", ""))
	feed.Expire() // not while it is watched
	if s.feed("campaign cmp_1") != feed {
		t.Error("a feed was forgotten under its clients")
	}
	_ = back.conn.Close()
	s.quiet()
	feed.Expire()
	if s.feed("campaign cmp_1") != nil {
		t.Error("a feed without clients is kept")
	}
	s.watch(livePath, "Last-Event-ID", back.last).gets("snapshot")
}

func TestAFeedThatNobodyComesBackToIsForgotten(t *testing.T) {
	s := newStage(t)
	s.server.feeds.Linger = time.Millisecond
	v := s.watch(livePath)
	v.gets("snapshot")
	_ = v.conn.Close()
	eventually(t, "it is forgotten", func() bool { return s.feed("campaign cmp_1") == nil })
}

func TestTheStreamOfADeletedCampaignSaysSoAndEnds(t *testing.T) {
	s := newStage(t)
	v := s.watch(livePath)
	v.gets("snapshot")
	s.ports.mu.Lock()
	delete(s.shows, "cmp_1")
	s.ports.mu.Unlock()
	s.ticks()
	v.gets("gone")
	v.ends()
	s.refused(404, "campaign_not_found", livePath, "Authorization", "Bearer "+s.admin)
	s.refused(404, "campaign_not_found", "/api/v1/campaigns/a%20b/live", "Authorization", "Bearer "+s.admin)
	eventually(t, "its place is free", func() bool { return s.held() == 0 })
	if s.feed("campaign cmp_1") != nil {
		t.Error("something is left of it")
	}
}

func TestWhoMayWatch(t *testing.T) {
	s := newStage(t)
	s.refused(401, "unauthorized", livePath)
	s.refused(401, "unauthorized", listPath)
	s.refused(401, "unauthorized", livePath, "Cookie", "dialler_session="+strings.Repeat("A", 43))
	scoped := s.addKey(func(k *engine.APIKey) { k.Scopes = []string{"trigger"} })
	s.refused(403, "scope_missing", listPath, "X-API-Key", scoped) // as the list itself
	s.refused(403, "scope_missing", livePath, "X-API-Key", scoped)
	limited := s.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	s.refused(403, "campaign_not_allowed", livePath, "X-API-Key", limited)
	s.watchAs(livePath, "X-API-Key", s.key).gets("snapshot")
	view := s.browser("view@example.org")
	s.watchAs(livePath, "Cookie", view.cookie).gets("snapshot")
	s.watchAs(listPath, "Cookie", view.cookie).gets("snapshot")
	s.ports.mu.Lock()
	s.lookFail = engine.Unavailable("timeout", "the dialler did not answer", time.Second)
	s.ports.mu.Unlock()
	s.refused(503, "timeout", "/api/v1/campaigns/cmp_2/live", "X-API-Key", s.key)
	if n := s.held(); n != 3 {
		t.Errorf("%d streams are counted", n)
	}
}

// The stream ends when its credentials do.
func TestAStreamEndsWithItsCredentials(t *testing.T) {
	f := func(name string, open func(*stage) []string, revoke func(*stage, []string)) {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			fields := open(s)
			v := s.watchAs(livePath, fields...)
			v.gets("snapshot")
			s.clock.advance(time.Second)
			s.beats()
			s.beats()
			if e := v.event(); e.comment != "heartbeat" {
				t.Fatalf("%+v", e)
			}
			revoke(s, fields)
			s.clock.advance(time.Second)
			s.beats()
			v.ends()
			eventually(t, "it is over", func() bool { return s.streams() == 0 })
		})
	}
	session := func(s *stage) []string { return []string{"Cookie", s.browser("oper@example.org").cookie} }
	token := func(s *stage) []string { return []string{"Authorization", "Bearer " + s.token("usr_oper")} }
	key := func(s *stage) []string { return []string{"X-API-Key", s.key} }
	user := func(change func(*engine.User)) func(*stage, []string) {
		return func(s *stage, _ []string) { defer s.ports.lock()(); change(&s.ports.users[1]) }
	}
	f("log-out", session, func(s *stage, fields []string) {
		token := strings.TrimPrefix(fields[1], "dialler_session=")
		s.do("DELETE", sessionPath, "", "Cookie", fields[1], "X-CSRF-Token", csrfOf(token)).is(204, "")
	})
	f("session of an inactive user", session, user(func(u *engine.User) { u.Active = false }))
	f("idle session", session, func(s *stage, _ []string) { s.clock.advance(12 * time.Hour) })
	f("token of an inactive user", token, user(func(u *engine.User) { u.Active = false }))
	f("user without a role", token, user(func(u *engine.User) { u.Role = "" }))
	// It may have begun with addresses that viewers do not see.
	f("operator who becomes a viewer", session, user(func(u *engine.User) { u.Role = "viewer" }))
	f("operator with a token who becomes a viewer", token, user(func(u *engine.User) { u.Role = "viewer" }))
	f("key that may only read", func(s *stage) []string {
		s.ports.lock()()
		s.ports.keys[0].Scopes = []string{"campaigns", "read"}
		return key(s)
	}, func(s *stage, _ []string) { defer s.ports.lock()(); s.ports.keys[0].Scopes = []string{"read"} })
	f("expired token", token, func(s *stage, _ []string) { s.clock.advance(12 * time.Hour) })
	f("inactive key", key, func(s *stage, _ []string) { defer s.ports.lock()(); s.ports.keys[0].Active = false })
	f("key without the scope", key, func(s *stage, _ []string) {
		defer s.ports.lock()()
		s.ports.keys[0].Scopes = []string{"trigger"}
	})
	f("key without the campaign", key, func(s *stage, _ []string) {
		defer s.ports.lock()()
		s.ports.keys[0].Campaigns = []engine.CampaignID{"cmp_2"}
	})
}

// An import that goes on all the time is no reason not to look who follows it.
func TestTheStreamOfAnImportEndsWithItsCredentialsWhileItChanges(t *testing.T) {
	s := newStage(t)
	imp := anImport(campaign.ImportContacts{Campaign: "cmp_1"})
	imp.State, imp.FinishedAt = campaign.ImportStaging, nil
	s.ports.theImport = func() campaign.Import { // called with the lock held
		imp.Rows++
		return imp
	}
	v := s.watch(importsPath + "/" + string(theImport) + "/live")
	v.gets("import")
	changes := func() {
		t.Helper()
		for range 5 {
			s.ticks()
			v.gets("import")
		}
	}
	changes()
	s.beats()
	if e := v.event(); e.comment != "heartbeat" {
		t.Errorf("%+v", e)
	}
	changes()
	func() { defer s.ports.lock()(); s.ports.users[0].Active = false }()
	changes()
	s.clock.advance(time.Second)
	s.beats()
	v.ends()
}

// A stream survives a failed check of its credentials and a single failed query.
func TestAStreamOutlivesShortTrouble(t *testing.T) {
	s := newStage(t)
	view := s.browser("view@example.org")
	v := s.watchAs(livePath, "Cookie", view.cookie)
	v.gets("snapshot")
	set := func(err error) { defer s.ports.lock()(); s.ports.userFail, s.lookFail = err, err }
	set(errBoom)
	s.clock.advance(2 * time.Second)
	s.beats()
	for range 10 - 1 {
		s.ticks()
	}
	set(nil)
	s.changes("cmp_1", func(d *campaign.Detail) { d.Counters.Total = 1 })
	s.ticks()
	v.gets("delta")
	// The delta may come from the previous query: none may be in progress when the next failure
	// begins.
	eventually(t, "every tick has had its look", func() bool {
		defer s.ports.lock()()
		return s.looks == 1+10 // one for the snapshot, one per tick
	})
	// After a while it ends, and a client that reconnects is told why.
	set(errBoom)
	for range 10 {
		s.ticks()
	}
	v.ends()
	set(nil)
	s.watchAs(livePath, "Cookie", view.cookie).gets("snapshot")
}

// An address of the settings may have a password or a key in it: whoever may not edit them does not see it,
// in answers, lists and streams.
func TestAViewerSeesNoSecretsInTheAddressesOfSettings(t *testing.T) {
	s := newStage(t)
	s.changes("cmp_1", func(d *campaign.Detail) {
		d.Campaign.Settings.ConfigURL = "https://ada:secret@x.example/c.json?key=secret"
		d.Campaign.Settings.EligibilityURL = "https://x.example/ask#secret"
	})
	for _, user := range []engine.UserID{"usr_view", "usr_oper"} {
		as := "Bearer " + s.token(user)
		texts := map[string]string{"the stream": s.watchAs(livePath, "Authorization", as).gets("snapshot").data,
			"the list's stream": s.watchAs(listPath, "Authorization", as).gets("snapshot").data}
		for _, path := range []string{"/api/v1/campaigns", "/api/v1/campaigns/cmp_1"} {
			texts[path] = string(s.do("GET", path, "", "Authorization", as).is(200, "").body)
		}
		for what, text := range texts {
			masked := strings.Contains(text, `"config_url":"https://***@x.example/c.json?***"`) &&
				strings.Contains(text, `"eligibility_url":"https://x.example/ask?***"`) && !strings.Contains(text, "secret")
			if masked != (user == "usr_view") || !masked && strings.Count(text, "secret") != 3 {
				t.Errorf("%s sees in %s: %s", user, what, text)
			}
		}
	}
}
