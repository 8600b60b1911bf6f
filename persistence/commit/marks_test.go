package commit

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

func TestALegIsRememberedOnceItsCommitIsConfirmed(t *testing.T) {
	t.Parallel()
	at := time.Now()
	leg := func(i int, seq int) sentLeg {
		a := engine.AttemptID(numberedID(i))
		s, ok := sentLegOf(&table.LegRow{Attempt: string(a), N: 1, Leg: &attempt.Leg{ID: a.Leg(1), SentAt: &at,
			Seq: seq}})
		if !ok {
			t.Fatal("not one that is remembered")
		}
		return s
	}
	var m marks
	a, later := leg(1, 1), leg(1, 2)
	if m.leg(&a) {
		t.Error("nothing was written")
	}
	m.put(m.of(), []sentLeg{a}, nil)
	if !m.leg(&a) || m.leg(&later) {
		t.Errorf("as it was written %v, moved on %v", m.leg(&a), m.leg(&later))
	}
	m.put(m.of(), []sentLeg{later}, nil)
	if m.leg(&a) || !m.leg(&later) {
		t.Error("the last that was written counts")
	}
	// The legs of many calls push it out, and the number of remembered legs stays bounded.
	for i := range 3 * marked {
		m.put(m.of(), []sentLeg{leg(i+2, 1)}, nil)
		if n := len(m.legs.now) + len(m.legs.before); n > 2*marked {
			t.Fatalf("%d are remembered", n)
		}
	}
	if m.leg(&later) {
		t.Error("it is remembered forever")
	}
	// Nothing is known of another server, not even from a late confirmation by the previous one.
	server := m.of()
	m.put(server, []sentLeg{a}, nil)
	m.forget()
	m.put(server, []sentLeg{later}, nil)
	if m.leg(&a) || m.leg(&later) {
		t.Error("what another server stored is taken for stored")
	}
	if _, ok := sentLegOf(&table.LegRow{Attempt: numberedID(1), N: 2, Leg: &attempt.Leg{},
		Far: table.FarLeg{Kind: attempt.PeerBot}}); ok {
		t.Error("a far leg is remembered")
	}
}

func numberedID(i int) string { return column.FormatID([16]byte{byte(i >> 16), byte(i >> 8), byte(i)}) }
