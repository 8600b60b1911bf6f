package leg

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack/timing"
	"dialler/sipstack/trunk"
)

func TestCancelBeforeTheInviteIsWritten(t *testing.T) {
	s, err := openTable(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.shut()
	s.trunks.SetTrunk(trunk.Config{ID: "t", Host: "127.0.0.1", Port: 9, OptionsInterval: -1})
	var got []engine.LegEvent
	l := s.newLeg("leg", "attempt", s.trunks.Get("t"), func(e engine.LegEvent) { got = append(got, e) })
	l.inv.sendBy = timing.BootNow().Add(time.Minute)
	s.add(l)
	if out := s.CancelLeg("leg"); out != engine.CancelNotSent {
		t.Fatal(out)
	}
	l.mu.Lock()
	l.inv.begin(s.trunks.Get("t").Targets())
	l.unlock()
	if len(got) != 1 || got[0].NotSent != engine.NotSentCancelled || s.Count.Invites.Load() != 0 {
		t.Fatalf("%+v", got)
	}
	if out := s.CancelLeg("leg"); out != engine.CancelNotSent {
		t.Fatal(out)
	}
}
