package process

import (
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// holidaysServer serves a file of holidays that can be changed.
type holidaysServer struct {
	*httptest.Server
	text atomic.Pointer[string] // nil: it is not found
}

func newHolidaysServer(t *testing.T, text string) *holidaysServer {
	s := &holidaysServer{}
	s.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		if text := s.text.Load(); text != nil {
			_, _ = w.Write([]byte(*text))
			return
		}
		nethttp.NotFound(w, nil)
	}))
	t.Cleanup(s.Close)
	s.serves(text)
	return s
}

func (s *holidaysServer) serves(text string) { s.text.Store(&text) }

// closedNow is a file in which yesterday, today and tomorrow are holidays: a test may pass midnight.
func closedNow() string {
	return "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:" + time.Now().UTC().AddDate(0, 0, -1).Format("20060102") +
		"\nDURATION:P4D\nSUMMARY:Company outing\nEND:VEVENT\nEND:VCALENDAR"
}

// closedLater is a file whose only holiday is in a month.
func closedLater() string {
	return "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:" + time.Now().UTC().AddDate(0, 1, 0).Format("20060102") +
		"\nEND:VEVENT\nEND:VCALENDAR"
}

// explained is what the API says about a contact.
func (w *world) explained(id engine.CampaignID, to string) (code, message string) {
	w.t.Helper()
	var c struct {
		Explain struct{ Code, Message string }
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts/"+string(w.contact(id, to).ID), nil).expect(200).into(&c)
	return c.Explain.Code, c.Explain.Message
}

func TestACampaignCallsOnceItsCalendarIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{calendarsEvery: 50 * time.Millisecond}, 300*time.Millisecond)
	to, next := newNumber(), newNumber()
	model := w.carrier(carrier.Config{})
	calls := func(n string) int { return len(model.Ledger().To(engine.PhoneNumber(n))) }
	put := func(id string, body map[string]any) answer { return w.operator("PUT", "/api/v1/calendars/"+id, body) }
	feed := newHolidaysServer(t, closedNow())
	put("office", map[string]any{"name": "Office", "holidays_url": feed.URL}).expect(201)
	id := w.campaign(map[string]any{"calendar_ids": []string{"office"}, "always_on": true})
	w.addTo(id, to).expect(200)
	w.act(id, "start").expect(200)
	says := func(who, want string) {
		t.Helper()
		eventually(t, want, func() bool {
			code, message := w.explained(id, who)
			return code == "outside_window" && strings.Contains(message, want)
		})
	}
	says(to, "the calendar Office (Company outing) is closed; its calling window opens then")
	var windows struct {
		ClosedBy string `json:"closed_by"`
		OpensAt  *time.Time
		Openings []struct{ From, To time.Time }
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/windows", nil).expect(200).into(&windows)
	if windows.ClosedBy != "Office (Company outing)" || len(windows.Openings) == 0 || windows.Openings[0].From.Before(
		time.Now().Add(24*time.Hour)) {
		t.Errorf("%+v", windows)
	}
	due := func() { w.exec("UPDATE calendars SET tried_at = tried_at - interval '25 hours' WHERE id = 'office'") }
	problem := func() (text string) {
		var c struct {
			File struct{ Problem string } `json:"holidays_file"`
		}
		w.operator("GET", "/api/v1/calendars/office", nil).expect(200).into(&c)
		return c.File.Problem
	}

	feed.text.Store(nil)
	due()
	eventually(t, "the calendar says that its file is not found", func() bool {
		return strings.Contains(problem(), "404")
	})
	if a := w.operator("GET", "/api/v1/health", nil).expect(200); !strings.Contains(fmt.Sprint(a), "holidays_stale") {
		t.Errorf("%s", a)
	}
	for path, want := range map[string]bool{"/api/v1/health": true, "/readyz": false} {
		if a := w.operator("GET", path, nil); strings.Contains(fmt.Sprint(a), "up to date: Office") != want {
			t.Errorf("%s names the calendar: %s", path, a)
		}
	}
	says(to, "Office (Company outing)") // the last good file stays
	if n := calls(to); n != 0 {
		t.Fatalf("%d calls while the calendar is closed", n)
	}

	feed.serves("BEGIN:VCALENDAR\nEND:VCALENDAR")
	due()
	eventually(t, "an empty file is a problem", func() bool { return strings.Contains(problem(), "no day from today on") })

	feed.serves(closedLater())
	due()
	eventually(t, "the calendar opens with the new file, and the contact is called", func() bool { return calls(to) == 1 })
	if text := problem(); text != "" {
		t.Errorf("the problem is still told: %s", text)
	}

	// An edit closes it at once, in the running campaign; another opens it.
	var closed []map[string]any
	for day := -1; day < 3; day++ {
		closed = append(closed, map[string]any{"date": time.Now().UTC().AddDate(0, 0, day).Format(time.DateOnly)})
	}
	put("office", map[string]any{"name": "Office", "exceptions": closed, "version": 1}).expect(200)
	w.addTo(id, next).expect(200)
	says(next, "the calendar Office is closed")
	if n := calls(next); n != 0 {
		t.Fatalf("%d calls while the calendar is closed", n)
	}
	put("office", map[string]any{"name": "Office", "version": 2}).expect(200)
	eventually(t, "it is open again", func() bool { return calls(next) == 1 })
	if a := w.operator("DELETE", "/api/v1/calendars/office", nil).expect(409); a.code() != "calendar_in_use" {
		t.Errorf("%s", a)
	}
}

func TestTheHoursOfACountryHoldForItsNumbersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.flags.AllowedCountries = []string{"DE", "FR"}
	if _, err := w.p.Reload(t.Context(), w.flags); err != nil {
		t.Fatal(err)
	}
	german, french := newNumber(), "+33612345678"
	model := w.carrier(carrier.Config{})
	calls := func(n string) int { return len(model.Ledger().To(engine.PhoneNumber(n))) }
	closed := map[string]any{"name": "Germany", "countries": []string{"DE"}, "holidays_file": closedNow()}
	w.operator("PUT", "/api/v1/calendars/de", closed).expect(201)
	id := w.running(nil)
	w.addTo(id, german).expect(200)
	w.addTo(id, french).expect(200)
	eventually(t, "the French number is called", func() bool { return calls(french) == 1 })
	eventually(t, "the German number waits", func() bool {
		code, message := w.explained(id, german)
		return code == "outside_window" && strings.Contains(message, "the calendar Germany (Company outing) is closed")
	})
	if n := calls(german); n != 0 {
		t.Errorf("%d calls while the country's calendar is closed", n)
	}
}
