package cluster

import (
	"context"
	"testing"

	"dialler/engine/ownership"
)

func TestWhatIsHandedOverIsTheOtherNodesAlsoForWhoAskedBefore(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	asked, answer := make(chan struct{}), make(chan struct{})
	db.late = func() { close(asked); <-answer }
	nodes := start(t, db, 2, nil)
	one, two := nodes[0], nodes[1]
	if _, err := one.Claim(t.Context(), campaign(1)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := one.OwnersOf(context.Background(), ownership.Campaign, []string{campaign(1).ID})
		done <- err
	}()
	<-asked // its answer names this node
	if err := one.HandTo(t.Context(), campaign(1), two.Incarnation()); err != nil {
		t.Fatal(err)
	}
	close(answer)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, mine := one.Owned(campaign(1)); mine {
		t.Error("it is still this node's")
	}
	if w, mine := two.Owned(campaign(1)); !mine || w.Epoch != 2 {
		t.Errorf("the other node has %+v, %v", w, mine)
	}
	if w, err := one.Owner(t.Context(), campaign(1)); err != nil || w.Incarnation != two.Incarnation() {
		t.Errorf("owner %+v, %v", w, err)
	}
}

func TestOwnersOfManyAreKnownWithoutAskingAgain(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	nodes := start(t, db, 2, nil)
	if _, err := nodes[1].Claim(t.Context(), campaign(2)); err != nil {
		t.Fatal(err)
	}
	db.stands.Store(int64(db.Boot())) // cached knowledge stays valid for a second
	all, err := nodes[0].OwnersOf(t.Context(), ownership.Campaign, []string{campaign(1).ID, campaign(2).ID})
	if err != nil || len(all) != 2 || all[0].Live || all[1].Incarnation != nodes[1].Incarnation() {
		t.Fatalf("%+v, %v", all, err)
	}
	if w, ok := nodes[0].recall(campaign(2)); !ok || w.Incarnation != nodes[1].Incarnation() {
		t.Errorf("known: %+v, %v", w, ok)
	}
}
