package actors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// inOrder returns the attempts whose INVITE left, by the time of the INVITE.
func (r *rig) inOrder() []attempt.Attempt {
	list := r.dialled()
	slices.SortFunc(list, func(a, b attempt.Attempt) int { return a.InviteAt.Compare(*b.InviteAt) })
	return list
}

// oneByOne is a campaign with one line, whose calls are never answered.
func oneByOne(ring time.Duration, edit func(*campaign.Settings)) (func(engine.PhoneNumber, int) actortest.Script,
	func(*campaign.Settings)) {
	return func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: ring, Code: 486} },
		func(s *campaign.Settings) {
			s.Concurrency, s.AbandonCapPPM, s.MaxAttempts, s.RetryDelaySec = 1, 0, 2, 10
			if edit != nil {
				edit(s)
			}
		}
}

func TestTheFirstPassIsTheContactsOfTheRunAndOfTheBatchBeforeAnyRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, edit := oneByOne(4*time.Second, nil)
		r := newRig(t, script, edit)
		defer r.tree.Close()
		r.add(20)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "the first retry", func() bool { return len(r.dialled()) == 21 })
		var more campaign.AddContacts
		more.Campaign, more.Source = r.id, "csv"
		for i := 100; i < 110; i++ {
			more.Contacts = append(more.Contacts, campaign.NewContact{Number: number(i)})
		}
		if _, err := r.tree.AddContacts(context.Background(), more); err != nil {
			t.Fatal(err)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		list := r.inOrder()
		var numbers []engine.PhoneNumber
		for i, a := range list {
			numbers = append(numbers, a.To)
			if want := 1; i < 20 && a.Number != want {
				t.Errorf("dial %d is attempt %d: a retry before the first pass was over", i, a.Number)
			}
		}
		for i := range 20 {
			if numbers[i] != number(i) {
				t.Fatalf("dial %d is not in list order", i)
			}
		}
		// The batch makes its own first pass: after the retries already placed or read when it
		// came, before all others.
		batch := slices.Index(numbers, number(100))
		if batch > 24 || !slices.Equal(numbers[batch:batch+10], []engine.PhoneNumber{number(100), number(101), number(102),
			number(103), number(104), number(105), number(106), number(107), number(108), number(109)}) {
			t.Errorf("the batch begins at dial %d: %v", batch, numbers[batch:min(batch+10, len(numbers))])
		}
		// Retries are in the order of their due times.
		var retried []engine.PhoneNumber
		for _, a := range list[20:] {
			if a.Number == 2 && slices.Contains(numbers[:20], a.To) {
				retried = append(retried, a.To)
			}
		}
		if !slices.Equal(retried, numbers[:20]) {
			t.Errorf("retries in the order %v", retried)
		}
	})
}

func TestTriggersComeBeforeTheListAndDoNotStarveRetriesOfAnAlwaysOnCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, edit := oneByOne(4*time.Second, func(s *campaign.Settings) { s.AlwaysOn = true })
		r := newRig(t, script, edit)
		defer r.tree.Close()
		r.add(30)
		r.act(campaign.ActionStart)
		// More triggers than one line can dial.
		for i := range 40 {
			go func() {
				_, _ = r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(500 + i)})
			}()
			time.Sleep(3 * time.Second) // virtual
		}
		r.until(2*time.Hour, "everybody was dialled twice", func() bool { return len(r.dialled()) == 140 })
		due := map[engine.ContactID]time.Time{}
		r.store.View(func() {
			for _, e := range r.store.AllEvents() {
				if e.Type == journal.AttemptEnded && e.Data.DueAt != nil {
					due[e.Contact] = *e.Data.DueAt
				}
			}
		})
		list := r.inOrder()
		waited := func(a attempt.Attempt) time.Duration { return a.InviteAt.Sub(due[a.Contact]) }
		firsts, retries := 0, 0
		for i, a := range list[:40] { // while triggers come
			switch {
			case a.Number == 2:
				retries++
				if waited(a) < 10*time.Second {
					t.Errorf("dial %d: a retry overdue by %v goes before triggers", i, waited(a))
				}
			case a.To < number(500):
				firsts++
			}
		}
		if firsts > 2 || retries == 0 {
			t.Errorf("of 40 dials while triggers came, %d were of the list and %d retries", firsts, retries)
		}
		r.act(campaign.ActionStop)
	})
}
