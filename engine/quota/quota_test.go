package quota

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/ownership"
)

// A grant ends before another node may grant, if the keeper's lease expired.
func TestAGrantEndsBeforeAnotherKeeperMayClaim(t *testing.T) {
	if UseFor+slack > Apart || Patience >= UseFor {
		t.Error("a grant may be used while another node grants, or is over when it comes")
	}
	if got := Settle(ownership.Trunk, RanOut); got != 0 {
		t.Errorf("after a lease that ran out a trunk waits %v", got)
	}
}

func TestANewKeeperWaitsForWhatIsUnused(t *testing.T) {
	for _, k := range []ownership.Kind{ownership.Trunk, ownership.Fleet, ownership.Number} {
		if Settle(k, Nobody) != 0 {
			t.Errorf("%s: the first keeper waits", k)
		}
		if s := Settle(k, LeftIt); s <= UseFor || k == ownership.Fleet && s <= UseFor+SeatsFor {
			t.Errorf("%s: %v after one that left", k, s)
		}
		if Settle(k, RanOut)+Apart < Settle(k, LeftIt) {
			t.Errorf("%s: what was granted may be used beside what is", k)
		}
	}
}

func TestANodeThatIsDeclaredDeadRanOut(t *testing.T) {
	at := time.Unix(1000, 0)
	later, earlier := at.Add(time.Second), at.Add(-time.Second)
	for want, n := range map[Before][]ownership.Node{
		RanOut: {{ExpiresAt: at}, {ExpiresAt: at, LeftAt: &later}},
		LeftIt: {{ExpiresAt: at, LeftAt: &earlier}, {ExpiresAt: at, Live: true}},
	} {
		for i := range n {
			if got := End(&n[i]); got != want {
				t.Errorf("%+v ended as %s, want %s", n[i], got, want)
			}
		}
	}
}

func TestAKeeperGrantsOnlyAfterItHasCounted(t *testing.T) {
	var k Keeper
	k.Claimed(100, 7, 50)
	for now := engine.BootTime(100); now < 150; now += 10 {
		if k.Count(now) || k.May(7) {
			t.Fatalf("at %d it counts or grants", now)
		}
	}
	if !k.Count(150) || k.May(7) || k.Count(151) {
		t.Fatal("it does not count once at the end of settling")
	}
	if k.Counted(160, false); k.May(7) || k.Count(161) {
		t.Fatal("it grants, or asks at once, after a count that failed")
	}
	if !k.Count(engine.BootTime(160).Add(RetryAfter)) {
		t.Fatal("it does not count again")
	}
	if k.Counted(900, true); !k.May(7) || k.May(8) || k.May(0) {
		t.Fatal("it grants as another incarnation, or not at all")
	}
	if k.Lost(); k.May(7) {
		t.Fatal("it grants for what is another's")
	}
}

func TestAnAnswerThatComesLateIsNotUsed(t *testing.T) {
	var a Asks[string]
	first, second := a.Add(10, "first"), a.Add(20, "second")
	if late := a.Late(engine.BootTime(10).Add(Patience)); !slices.Equal(late, []string{"first"}) {
		t.Fatalf("late: %v", late)
	}
	if _, ok := a.Answered(first); ok {
		t.Error("a question that was given up is answered")
	}
	if what, ok := a.Answered(second); !ok || what != "second" {
		t.Error("an open question is not answered")
	}
	if _, ok := a.Answered(second); ok {
		t.Error("a question is answered twice")
	}
}

func TestWhatIsOwedIsToldUntilItIsConfirmed(t *testing.T) {
	var o Owed[string]
	id, _ := o.Add("a")
	if due := o.Due(10); len(due) != 1 || due[0].ID != id {
		t.Fatalf("due at first: %v", due)
	}
	if due := o.Due(11); len(due) != 0 {
		t.Fatalf("due again at once: %v", due)
	}
	if due := o.Due(engine.BootTime(10).Add(RepeatAfter)); len(due) != 1 {
		t.Fatal("it is not told again")
	}
	o.Confirmed(id)
	if due := o.Due(engine.BootTime(10).Add(time.Hour)); len(due) != 0 || o.Len() != 0 {
		t.Fatal("it is told after it was confirmed")
	}
}

func TestTheBookFollowsTheDatabase(t *testing.T) {
	var s Strays[string]
	open := func(k ...string) map[string]struct{} {
		m := map[string]struct{}{}
		for _, k := range k {
			m[k] = struct{}{}
		}
		return m
	}
	at := time.Unix(1000, 0)
	look := func(after time.Duration, held []string, open map[string]struct{}, drop, add string) {
		t.Helper()
		d, a := s.Look(at.Add(after), held, open)
		if got := [2]string{join(d), join(a)}; got != [2]string{drop, add} {
			t.Errorf("after %v: dropped %q, added %q; want %q and %q", after, got[0], got[1], drop, add)
		}
	}
	look(0, []string{"stored", "granted"}, open("stored", "elsewhere"), "", "")
	// A stored use that is no longer open is over; one that was never stored may still come.
	look(time.Second, []string{"stored", "granted"}, open("elsewhere"), "stored", "")
	look(strayAfter, []string{"granted"}, open("elsewhere"), "granted", "elsewhere")
}

func join(s []string) (all string) {
	for _, x := range s {
		all += x
	}
	return all
}

func TestNumbersAreSpreadOverTheShards(t *testing.T) {
	count := map[string]int{}
	for i := range 3200 {
		n := engine.PhoneNumber("+4930231" +
			string([]byte{byte('0' + i/1000), byte('0' + i/100%10), byte('0' + i/10%10), byte('0' + i%10)}))
		id := Shard(n)
		if !id.Valid() || id != Shard(n) {
			t.Fatalf("%v", id)
		}
		count[id.ID]++
	}
	if len(count) != Shards {
		t.Errorf("%d shards are used", len(count))
	}
	for id, n := range count {
		if n > 250 {
			t.Errorf("shard %s has %d of 3200", id, n)
		}
	}
}
