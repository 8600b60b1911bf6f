package call

import (
	"bytes"
	"encoding"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/window"
)

func TestEverythingInAContactAndADialoutCanBeWrittenDown(t *testing.T) {
	if err := contactCodec().Problem(); err != nil {
		t.Error(err)
	}
	if err := dialoutCodec().Problem(); err != nil {
		t.Error(err)
	}
}

func TestRulesAreWrittenDownAsWhatTheyFollowFrom(t *testing.T) {
	c := campaign.Campaign{ID: "cmp", Run: 2, Epoch: 3, State: campaign.Paused, Settings: campaign.Defaults()}
	c.Settings.Window.Zone, c.Settings.Window.ContactZone = "UTC", true
	c.Settings.Window.Start, c.Settings.Window.End = 9*60, 18*60
	c.Settings.Calendars = []engine.CalendarID{"late"}
	c.Narrow([]calendar.Named{{ID: "late", Hours: window.Calendar{Hours: map[window.Day][]window.Span{
		window.Tue: {{From: 10 * 60, To: 18 * 60}}}}},
		{ID: "jp", Hours: window.Calendar{Countries: []string{"JP"}, Holidays: []window.Holiday{{
			Date: window.Date{Year: 2030, Month: 1, Day: 8}, Name: "a day"}}}}})
	rl := RulesOf(c)
	rl.Bot.ID, rl.Attempt.OptOut = "bot", '9'
	rl.Policy.Cadence = &cadence.Cadence{PerDay: 3}
	b, err := rl.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Rules
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if read.Bot.ID != "bot" || read.Attempt.OptOut != '9' || !read.Paused || read.Run != 2 || read.Epoch != 3 ||
		read.Policy.Cadence.PerDay != 3 {
		t.Errorf("%+v", read)
	}
	home := func(engine.PhoneNumber) window.Home {
		return window.Home{Zones: []string{"Asia/Tokyo"}, Country: "JP"}
	}
	night := time.Date(2030, 1, 7, 20, 0, 0, 0, time.UTC)
	for _, n := range []engine.PhoneNumber{"+81312345678", ""} {
		p, q := rl.PolicyFor(n, home), read.PolicyFor(n, home)
		at, _ := p.Clip(night)
		if at.Format("02 15:04") != "15 10:00" {
			t.Errorf("the calendars do not hold: %s", at)
		}
		if got, ok := q.Clip(night); !ok || !got.Equal(at) || got.Equal(night) {
			t.Errorf("%s in place of %s", got, at)
		}
	}
	if _, err := (&Rules{Run: 1}).MarshalBinary(); err == nil {
		t.Error("rules that are no campaign's are written")
	}
}

// writtenDown replaces the call's owner with a serialised and restored copy.
func (r *rig) writtenDown() {
	r.t.Helper()
	if r.dialout != nil {
		read := &Dialout{}
		readBack(r.t, r.dialout, read)
		r.dialout, r.call = read, &read.Call
		return
	}
	read, rules := &Contact{}, r.contact.Rules
	r.contact.Rules = nil // made by the test, not derived from a campaign
	readBack(r.t, r.contact, read)
	read.Rules, r.contact.Rules = rules, rules
	r.contact, r.call = read, &read.Call
}

func readBack(t *testing.T, v encoding.BinaryMarshaler, into interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}) {
	t.Helper()
	b, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := into.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if again, err := into.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
		t.Fatalf("%d bytes become %d, %v", len(b), len(again), err)
	}
}
