package persistence_test

import (
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

func TestLaddersAreKeptForTwoWeeks(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	const a, b engine.AttemptID = "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdee"
	long := engine.SIPMessage{At: now, Sent: true, Method: "INVITE", CSeq: 1, Peer: "192.0.2.1:5060",
		Note: `SDP, Reason: "x"`, Repeats: 3}
	ladders := []engine.Ladder{
		{Attempt: a, Leg: "leg-2", At: now.Add(time.Second), Messages: []engine.SIPMessage{long}},
		{Attempt: a, Leg: "leg-1", At: now, Messages: []engine.SIPMessage{long,
			{At: now.Add(time.Millisecond), Method: "INVITE", Code: 503, Reason: "Ünavailable", CSeq: 1}}},
		{Attempt: b, Leg: "leg-3", At: now.Add(-13 * 24 * time.Hour), Messages: nil},
	}
	for range 2 { // said twice
		if err := s.Lists.SaveLadders(t.Context(), ladders); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Lists.Ladder(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	var want []engine.SIPMessage
	for _, l := range []engine.Ladder{ladders[1], ladders[0]} {
		for _, m := range l.Messages {
			m.Leg = l.Leg
			want = append(want, m)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	kept := func() (n int) {
		if err := s.QueryRow(t.Context(), "SELECT count(*) FROM sip_ladders", &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []struct {
		at   time.Time
		want int
	}{{now, 3}, {now.Add(24*time.Hour - time.Minute), 3}, {now.Add(24 * time.Hour), 2}, {now.Add(15 * 24 * time.Hour),
		0}} {
		if _, err := s.Records.Retain(t.Context(), c.at, history.Keep{Ladders: 14 * 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
		if n := kept(); n != c.want {
			t.Errorf("%d ladders are left on %s, want %d", n, c.at, c.want)
		}
	}
}
