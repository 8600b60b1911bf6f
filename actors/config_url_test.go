package actors_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// library is the content of the Config URL; every fetch takes two seconds.
type library struct {
	body    string
	fail    error
	fetches int
	during  func()
}

func (l *library) FetchConfig(ctx context.Context, url string) (campaign.Document, error) {
	l.fetches++
	if f := l.during; f != nil {
		l.during = nil
		f()
	}
	select {
	case <-ctx.Done():
		return campaign.Document{}, ctx.Err()
	case <-time.After(2 * time.Second): // virtual
	}
	return campaign.Document{URL: url, Body: []byte(l.body), Hash: "h", FetchedAt: time.Now()}, l.fail
}

func withURL(s *campaign.Settings) { s.ConfigURL = "https://example.org/c.json"; s.AMD = engine.AMDOff }

func TestAStartWithAConfigURLFetchesItFirstAndAsksNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := &library{body: `{"concurrency":3,"max_attempts":1}`}
		r := newRig(t, steady(2*time.Second, 10*time.Second), withURL)
		r.tree.Close()
		r.configs = lib
		r.start()
		defer func() { r.tree.Close() }()
		r.results()
		r.add(5)
		if p := r.preflight(); !p.Ready || lib.fetches != 0 {
			t.Errorf("%+v, %d fetches", p, lib.fetches)
		}
		began := time.Now()
		d := r.act(campaign.ActionStart)
		if d.Campaign.State != campaign.Running || d.Campaign.Settings.Concurrency != 3 || d.Campaign.External == nil ||
			time.Since(began) < 2*time.Second {
			t.Errorf("%+v", d.Campaign)
		}
		// After a crash the process goes on with what was fetched.
		lib.fail = engine.Invalid("config_url_unreachable", "away")
		r.kill()
		r.start()
		r.until(5*time.Minute, "completed", r.completed)
		d = r.detail()
		if d.Campaign.Settings.Concurrency != 3 || d.Campaign.External == nil || lib.fetches != 1 {
			t.Errorf("%+v, %d fetches", d.Campaign, lib.fetches)
		}
		for i := range 5 {
			if c := r.contactOf(number(i)); c.Max != 1 {
				t.Errorf("contact %d may be tried %d times", i, c.Max)
			}
		}
	})
}

func TestAConfigURLThatCannotBeUsedFailsTheCampaignAndNobodyIsCalled(t *testing.T) {
	for reason, lib := range map[string]*library{
		"config_url_unreachable: away": {fail: engine.Invalid("config_url_unreachable", "away")},
		"config_url_invalid: ":         {body: `{"concurrency":0}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), withURL)
			r.tree.Close()
			r.configs = lib
			r.start()
			defer func() { r.tree.Close() }()
			r.add(2)
			d := r.act(campaign.ActionStart)
			if d.Campaign.State != campaign.Failed || !strings.HasPrefix(d.Campaign.FailureReason, reason) {
				t.Errorf("%s %q", d.Campaign.State, d.Campaign.FailureReason)
			}
			time.Sleep(time.Minute) // virtual
			if r.world.Invited() != 0 || d.Counters.Pending != 2 {
				t.Errorf("%d INVITEs, %d pending", r.world.Invited(), d.Counters.Pending)
			}
			r.store.View(func() {
				if c := r.store.CampaignRow(r.id); c.State != campaign.Failed || c.FailureReason != d.Campaign.FailureReason {
					t.Errorf("stored: %s %q", c.State, c.FailureReason)
				}
			})
		})
	}
}

func TestTheRunAnswersWhileAConfigurationIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lib := &library{body: `{}`}
		r := newRig(t, steady(2*time.Second, 10*time.Second), withURL)
		r.tree.Close()
		r.configs = lib
		r.start()
		defer func() { r.tree.Close() }()
		r.results()
		r.add(1)
		lib.during = func() { // the address is changed meanwhile
			if d := r.detail(); d.Campaign.State != campaign.Draft {
				t.Errorf("%s", d.Campaign.State)
			}
			r.mustEdit(func(s *campaign.Settings) { s.ConfigURL = "https://example.org/other.json" })
		}
		d := r.act(campaign.ActionStart)
		if d.Campaign.State != campaign.Running || d.Campaign.External.URL != "https://example.org/other.json" ||
			lib.fetches != 2 {
			t.Errorf("%s %q %+v, %d fetches", d.Campaign.State, d.Campaign.FailureReason, d.Campaign.External, lib.fetches)
		}
		if _, err := r.edit(func(s *campaign.Settings) { s.Concurrency = 5 }); engine.ErrorCode(err) != "illegal_state" {
			t.Error(err)
		}
	})
}
