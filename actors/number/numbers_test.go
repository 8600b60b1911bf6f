package number

import (
	"context"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/actors/host"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/dialout"
	"dialler/engine/ownership"
)

// two is a store with two numbers that nobody has called from.
type two struct{ Store }

func (two) Numbers(context.Context) ([]engine.NumberSettings, error) {
	return []engine.NumberSettings{{Number: "+493023125000", State: "active"},
		{Number: "+493023125001", State: "active"}}, nil
}

func (two) NumberDials(context.Context, time.Time) ([]engine.NumberDials, error) { return nil, nil }

func (two) NumberEnds(context.Context, time.Time, int) ([]engine.NumberEnd, error) { return nil, nil }

// keeper is another node that keeps all counts.
type keeper struct {
	lease.SharedCaps
	sys   *host.System
	asked chan func([]byte, engine.BootTime, error)
}

func (keeper) Mine(ownership.Identity) bool { return false }

func (k keeper) Ask(_ ownership.Identity, _, _ []byte, then func([]byte, engine.BootTime, error)) {
	k.asked <- then
}

type clock struct{}

func (clock) Now() time.Time        { return time.Now() }
func (clock) Boot() engine.BootTime { return 0 }

// asking starts numbers whose counts another node keeps, and somebody who hears what dialouts are answered.
func asking(t *testing.T) (k keeper, numbers, asker *actor.PID, answers chan *dialout.NumberLeased) {
	t.Helper()
	sys := host.New(t.Context(), clock{}, zerolog.Nop())
	t.Cleanup(func() { sys.Close() })
	k = keeper{sys: sys, asked: make(chan func([]byte, engine.BootTime, error), 8)}
	var err error
	numbers, err = sys.Spawn("numbers", func() actor.Actor {
		return New(&Deps{System: sys, Store: two{}, Timeout: time.Minute, Reconcile: time.Hour, Shared: k, Stats: &Stats{}})
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	answers = make(chan *dialout.NumberLeased, 8)
	asker, err = sys.Spawn("asker", func() actor.Actor {
		return actor.ReceiveFunc(func(ctx actor.Context) {
			if m, ok := ctx.Message().(*dialout.NumberLeased); ok {
				answers <- m
			}
		})
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k, numbers, asker, answers
}

func TestAnAttemptThatAsksAgainWhileItWaitsLeasesOneNumber(t *testing.T) {
	k, numbers, asker, answers := asking(t)
	sys := k.sys
	grant := link.Pack((&leased{OK: true}).fields)
	const attempt engine.AttemptID = "AT1"
	sys.Root.Send(numbers, &LeaseAny{Attempt: attempt, ReplyTo: asker})
	sys.Root.Send(numbers, &LeaseAny{Attempt: attempt, ReplyTo: asker}) // the call is tried again
	sys.Root.Send(numbers, &LeaseAny{Attempt: "AT2", ReplyTo: asker})
	first, second := <-k.asked, <-k.asked
	second(grant, 0, nil)
	if m := <-answers; m.Attempt != "AT2" {
		t.Fatalf("a second number was leased for %+v", m)
	}
	first(grant, 0, nil)
	if m := <-answers; m.Attempt != attempt || m.Number == "" || m.Err != nil {
		t.Errorf("%+v", m)
	}
}

// The node that keeps the count was killed a moment ago: whether its number may be called from is not known, and it is
// asked for again as soon as another node may keep it.
func TestANumberWhoseKeeperIsAwayIsNotAtItsCap(t *testing.T) {
	k, numbers, asker, answers := asking(t)
	refused := link.Pack((&leased{}).fields)
	for what, from := range map[string]engine.PhoneNumber{"any": "", "one": "+493023125001"} {
		for _, away := range []bool{true, false} {
			k.sys.Root.Send(numbers, &LeaseAny{Attempt: "AT1", From: from, ReplyTo: asker})
			if away {
				(<-k.asked)(nil, 0, engine.Unavailable("keeper_away", "", 0))
			} else {
				(<-k.asked)(refused, 0, nil)
			}
			if from == "" {
				(<-k.asked)(refused, 0, nil)
			}
			want := "no_number"
			if away {
				want = "keeper_away"
			}
			if m := <-answers; engine.ErrorCode(m.Err) != want {
				t.Errorf("%s, away %v: %v", what, away, m.Err)
			}
		}
	}
}
