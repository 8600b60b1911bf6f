package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
)

// A contact may be called and be idle again between the reading of its row and the answer: a
// request for it must not go on with the stale row.
func TestARowThatWasReadBeforeTheCallIsReadAgain(t *testing.T) {
	busy := func(engine.PhoneNumber, int) actortest.Script {
		return actortest.Script{Ring: 200 * time.Millisecond, Code: 486}
	}
	for name, ask := range map[string]func(r *rig) error{ // each acts on the contact's state at that time
		"exclude": func(r *rig) error {
			rep, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(1)})
			if err == nil && rep.Matched != 1 {
				t.Errorf("%+v", rep)
			}
			return err
		},
		"trigger": func(r *rig) error {
			_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(1)})
			return err
		},
		"call back": func(r *rig) error {
			id, at := r.contactOf(number(1)).ID, time.Now().Add(time.Hour)
			r.store.View(func() { r.store.LateAnswer = 3 * time.Second })
			return r.tree.ActOnContact(context.Background(), campaign.ActOnContact{Campaign: r.id, Contact: id,
				Action: campaign.CallBack, At: at})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, busy, func(s *campaign.Settings) {
					s.AlwaysOn, s.MaxAttempts, s.Concurrency, s.CallbackDetection = true, 1, 1, true
				})
				defer r.tree.Close()
				r.add(2)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "the first one's line rings", func() bool { return r.world.InvitedTo(number(0)) == 1 })
				if name != "call back" {
					r.store.View(func() { r.store.LateAnswer = 3 * time.Second })
				}
				time.AfterFunc(time.Second, func() { r.store.View(func() { r.store.LateAnswer = 0 }) }) // only the first answer
				if err := ask(r); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour) // virtual: the promised call is over
				r.check()
				if n, want := r.world.InvitedTo(number(1)), map[string]int{"exclude": 0, "trigger": 2,
					"call back": 2}[name]; n != want {
					t.Errorf("called %d times, want %d", n, want)
				}
				r.act(campaign.ActionStop)
			})
		})
	}
}
