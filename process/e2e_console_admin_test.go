package process

import (
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/voice"
	"dialler/engine"
	"dialler/media/wav"
)

// The administration pages in a real browser, one script for each part; all use one world.
func TestAnAdministratorSetsUpTheDiallerInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	const admin = "ada@example.org"
	w.consoleUser(admin, "admin")
	id := w.running(map[string]any{"name": "Autumn renewals", "always_on": true})
	var taken atomic.Int64
	hook := httptest.NewServer(nethttp.HandlerFunc(func(answer nethttp.ResponseWriter, r *nethttp.Request) {
		if strings.HasSuffix(r.URL.Path, "/taken") {
			_, _ = fmt.Fprint(answer, taken.Load())
			return
		}
		taken.Add(1)
	}))
	defer hook.Close()
	later := newNumber()
	rep := w.dialoutAt(later, time.Hour, nil)
	for _, script := range []string{"admin-access.mjs", "admin-lines.mjs", "admin-rules.mjs"} {
		w.browse(script, "EMAIL", admin, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "FIRST", FirstAdminEmail,
			"TRUNK", "model", "BOT", "Anna", "NUMBER", ourNumber, "TO", newNumber(), "OTHER", newNumber(), "HOOK",
			hook.URL+"/hook", "LATER", later)
	}
	w.ended(rep.CallID, engine.OutcomeCancelled)
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestPeopleHearCallsAndSayWhoAnsweredInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 3*time.Second) // longer than a verdict takes, even with late audio
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	const admin, operator, name, calls = "ada@example.org", "olga@example.org", "Heard calls", 3
	w.consoleUser(admin, "admin")
	w.consoleUser(operator, "operator")
	id := w.campaign(map[string]any{"name": name, "concurrency": calls, "amd": "parallel", "recording": "on",
		"amd_review_share": 1})
	w.addTo(id, newNumber(), newNumber(), newNumber()).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "every verdict is to be reviewed, and its call recorded", func() bool {
		var list struct {
			Reviews []struct {
				AudioURL string `json:"audio_url"`
			}
		}
		w.operator("GET", "/api/v1/amd/reviews", nil).expect(200).into(&list)
		heard := 0
		for _, r := range list.Reviews {
			if r.AudioURL != "" {
				heard++
			}
		}
		return heard == calls && w.metric("dialler_recordings_live") == 0
	})
	w.browse("reviews.mjs", "EMAIL", admin, "OPERATOR", operator, "PASSWORD", browserPassword, "REVIEWS",
		fmt.Sprint(calls), "TRUNK", "model", "CAMPAIGN_NAME", name)
}

func TestAnOperatorSharesACadenceInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	const email, name = "olga@example.org", "Spring visits"
	w.consoleUser(email, "operator")
	id, busy := w.campaign(map[string]any{"name": name, "max_attempts": 2}), newNumber()
	w.addTo(id, busy).expect(200)
	w.browse("cadences.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "CAMPAIGN_NAME", name,
		"BUSY", busy, "TOKEN", w.admin)
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestAnOperatorSharesACalendarInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{})
	const email, name = "olga@example.org", "Spring visits"
	w.consoleUser(email, "operator")
	id, waits := w.campaign(map[string]any{"name": name, "always_on": true}), newNumber()
	w.addTo(id, waits).expect(200)
	var closed []string // a test may pass midnight
	for day := -1; day < 3; day++ {
		closed = append(closed, `{"date":"`+time.Now().UTC().AddDate(0, 0, day).Format(time.DateOnly)+`"}`)
	}
	w.browse("calendars.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "CAMPAIGN_NAME", name,
		"WAITS", waits, "TOKEN", w.admin, "CLOSED", "["+strings.Join(closed, ",")+"]",
		"DATE", time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly))
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestWhoCalledBackIsSeenInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	const admin = "ada@example.org"
	w.consoleUser(admin, "admin")
	message := func(name string) (id string) {
		said := voice.Utterance(draw.Rand(1, name, 0), 500*time.Millisecond)
		var kept struct{ ID string }
		w.send("POST", "/api/v1/voicemails?name="+url.QueryEscape(name), string(wav.Encode(said)), "Authorization",
			"Bearer "+w.admin, "Content-Type", "audio/wav").expect(201).into(&kept)
		return kept.ID
	}
	message("We called you")
	gone, caller := message("Old greeting"), newNumber()
	id := w.running(map[string]any{"always_on": true, "max_attempts": 1})
	w.addTo(id, caller).expect(200)
	eventually(t, "they were called", func() bool { return w.detail(id).Counters.Completed == 1 })
	control := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {
		w.callers(played, caller, anonymous).over()
	}))
	defer control.Close()
	w.browse("calls-back.mjs", "EMAIL", admin, "PASSWORD", browserPassword, "NUMBER", ourNumber, "CALLER", caller,
		"GONE", gone, "TOKEN", w.admin, "CONTROL", control.URL)
	w.act(id, "stop").expect(200)
	w.quiet()
}
