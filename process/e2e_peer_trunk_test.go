package process

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/sipstack"
)

// A trunk that answers no INVITE is paused after five in a row; the campaign says so, and resumes
// when the trunk is fixed.
func TestATrunkThatAnswersNoInviteIsLeftAloneAndTheCampaignSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 30 * time.Millisecond}}, 200*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.Silent}}})
	id := w.running(map[string]any{"concurrency": 5, "max_attempts": 2, "retry_delay_s": 3600})
	var numbers []string
	for range 40 {
		numbers = append(numbers, newNumber())
	}
	w.addTo(id, numbers...)
	eventually(t, "the campaign says that no trunk is usable", func() bool {
		l := w.detail(id).Live
		return l != nil && l.Constraint == engine.ConstraintTrunkHealth
	})
	s := w.shownTrunk("model")
	if s.Status.Health != "broken" && s.Status.Health != "trying" {
		t.Errorf("the trunk is shown as %+v", s.Status)
	}
	eventually(t, "the figures say so", func() bool {
		return w.metric("dialler_trunks_down") == 1 && w.labelled("dialler_outcomes_total", "outcome", "trunk_error") >= 5
	})
	if n := len(model.Ledger().Calls()); n < 5 || n > 30 {
		t.Errorf("%d calls were placed over a trunk that answers none", n)
	}
	r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()}).expect(503)
	if r.code() != "no_capacity" || !strings.Contains(string(r.body), "trunk_health") {
		t.Errorf("a dialout: %s", r)
	}
	if err := model.Configure(carrier.Config{Media: true,
		Profile: []carrier.Behaviour{person(20 * time.Millisecond)}}); err != nil {
		t.Fatal(err)
	}
	tried := len(model.Ledger().Calls()) // from now on, calls are answered
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, nil) // an operator has acted, which ends the pause
	eventually(t, "those who were not called are served",
		func() bool { return w.detail(id).Counters.Completed >= len(numbers)-tried })
	if d := w.detail(id); d.Counters.Abandoned != 0 || w.metric("dialler_trunks_down") != 0 {
		t.Errorf("%v trunks are down, %+v", w.metric("dialler_trunks_down"), d.Counters)
	}
	w.act(id, "stop").expect(200)
	w.quiet()
	if dup := model.Ledger().DuplicateInvites(); len(dup) > 0 {
		t.Errorf("called twice: %v", dup)
	}
}

// garbler is a far side that answers every message with something invalid: truncated, of another
// call, or not SIP at all. It answers OPTIONS correctly while alive is true.
func garbler(t *testing.T, alive *atomic.Bool) *net.UDPAddr {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 65535)
		for {
			n, from, err := c.ReadFromUDP(buf)
			if err != nil {
				return
			}
			var head []string
			for line := range strings.Lines(string(buf[:n])) {
				for _, name := range []string{"Via:", "From:", "To:", "Call-ID:", "CSeq:"} {
					if strings.HasPrefix(line, name) {
						head = append(head, strings.TrimRight(line, "\r\n"))
					}
				}
			}
			good := "SIP/2.0 200 OK\r\n" + strings.Join(head, "\r\n") + "\r\nContent-Length: 0\r\n\r\n"
			if alive.Load() && strings.HasPrefix(string(buf[:n]), "OPTIONS ") {
				_, _ = c.WriteToUDP([]byte(good), from)
				continue
			}
			for _, text := range []string{
				good[:len(good)/2],
				strings.Replace(good, "Call-ID: ", "Call-ID: x", 1),
				strings.Replace(good, "branch=", "branch=x", 1),
				strings.Replace(good, "200 OK", "999 What", 1),
				strings.Replace(good, "SIP/2.0", "SIP/9.9", 1),
				"\x00\xff\xfe garbage \r\n\r\n", "\r\n\r\n", "",
				strings.Repeat("SIP/2.0 200 OK\r\n", 500),
			} {
				_, _ = c.WriteToUDP([]byte(text), from)
			}
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return c.LocalAddr().(*net.UDPAddr)
}

func TestATrunkThatAnswersGarbageIsAsGoodAsSilentAndStopsNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 20 * time.Millisecond}}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)}})
	talking := w.dialout(newNumber())
	eventually(t, "it talks", func() bool { return w.call(talking).State == "connected" })
	var alive atomic.Bool
	at := garbler(t, &alive)
	w.trunk("garbled", "127.0.0.1", at.Port, map[string]any{"priority": 0})
	w.unanswered("garbled")
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"active": false})
	// A call shows it, too.
	w.ended(w.dialout(newNumber()), engine.OutcomeTrunkError)
	if r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot,
		"to_number": newNumber()}); r.status != 503 || r.code() != "no_capacity" || r.header.Get("Retry-After") == "" {
		t.Errorf("a dialout with a trunk that is broken and one that is switched off: %s", r)
	}
	if n := w.metric("dialler_trunks_down"); n != 1 { // an inactive trunk does not count
		t.Errorf("%v trunks are down", n)
	}
	alive.Store(true)
	w.trunk("garbled", "127.0.0.1", at.Port, map[string]any{"options_s": 3600})
	eventually(t, "it is up", func() bool {
		return w.shownTrunk("garbled").Status.Health == "up" && w.metric("dialler_trunks_down") == 0
	})
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeTrunkError)
	if n := w.labelled("dialler_outcomes_total", "outcome", "trunk_error"); n != 2 {
		t.Errorf("%v calls that no trunk took", n)
	}
	if a := w.stored(id); !a.Consumed || a.SIPCode != 0 || len(a.Legs) != 1 || a.AnsweredAt != nil {
		t.Errorf("%+v", a)
	}
	// The call on the other trunk is not affected.
	if c := w.call(talking); c.State != "connected" || !model.HangUp(string(w.stored(talking).ID.Leg(1))) {
		t.Errorf("%+v", c)
	}
	w.ended(talking, engine.OutcomeCompleted)
	w.quiet()
}

// A carrier forgets a call: audio stops, and our BYE is not answered.
func TestACallWhoseAudioStopsIsEndedEvenIfTheTrunkAnswersNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 40 * time.Millisecond}, rtpTimeout: 3 * time.Second}, 0)
	mute, deaf := engine.PhoneNumber(newNumber()), engine.PhoneNumber(newNumber())
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)},
		Script: map[engine.PhoneNumber][]carrier.Behaviour{
			mute: {{Kind: carrier.Human, Mute: true}},
			deaf: {{Kind: carrier.Human, Deaf: true, Chatter: draw.Exactly(50 * time.Millisecond)}},
		}})
	id, oneWay := w.dialout(mute.E164()), w.dialout(deaf.E164())
	eventually(t, "it talks", func() bool {
		return w.call(id).State == "connected" && w.call(oneWay).State == "connected"
	})
	if c := w.ended(id, engine.OutcomeMediaError); c.HungUpBy != "system" ||
		w.labelled("dialler_outcomes_total", "outcome", "media_error") != 1 {
		t.Errorf("shown as %+v", c)
	}
	if a := w.stored(id); a.HungUpBy != engine.PartySystem || !a.Consumed || a.Quality == nil ||
		a.Quality.PacketsReceived != 0 {
		t.Errorf("nothing was heard of the callee: %s %+v", a.HungUpBy, a.Quality)
	}
	eventually(t, "the callee is hung up", func() bool {
		row, _ := model.Ledger().Call(string(w.stored(id).ID.Leg(1)))
		return row.ByeBy == carrier.Caller
	})
	// Audio from the callee alone still counts as a call; its carrier is gone meanwhile.
	if c := w.call(oneWay); c.State != "connected" {
		t.Errorf("one-way audio: %+v", c)
	}
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"media": map[string]any{"dtx": true}})
	quiet := newNumber()
	if err := model.Configure(carrier.Config{Media: true,
		Profile: []carrier.Behaviour{{Kind: carrier.Human, Mute: true}}}); err != nil {
		t.Fatal(err)
	}
	exempt := w.dialout(quiet)
	eventually(t, "it talks", func() bool { return w.call(exempt).State == "connected" })
	eventually(t, "five seconds of the bot's voice are heard, more than the time-out", func() bool {
		row, _ := model.Ledger().Call(string(w.stored(exempt).ID.Leg(1)))
		return row.RTP.Received >= 250
	})
	if c := w.call(exempt); c.State != "connected" {
		t.Errorf("a trunk with DTX: %+v", c)
	}
	if err := model.Configure(carrier.Config{Media: true, Dead: true}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []engine.CallID{oneWay, exempt} {
		if !w.bot.HangUp(id) {
			t.Fatal("the session is gone")
		}
		w.ended(id, engine.OutcomeCompleted)
		eventually(t, "its leg is given up", func() bool { a := w.stored(id); return !a.OpenLeg() })
	}
	w.quiet()
}
