package storetest

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/pacing"
)

func pacingKept(t *testing.T, w *world) {
	if _, ok, err := w.store.Pacing(t.Context(), w.c.ID); ok || err != nil {
		t.Fatal(ok, err)
	}
	m := pacing.NewModel(w.now, 30*time.Second, 2*time.Second, nil)
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed world
	for i := range 200 {
		at := w.now.Add(time.Duration(i) * 500 * time.Millisecond)
		m.Dialled(at)
		m.Answered(at, time.Duration(r.IntN(29))*time.Second)
		m.Served()
		m.Tick(at)
	}
	kept := m.State()
	save := func(epoch int64, s pacing.State) {
		t.Helper()
		if err := w.store.SavePacing(t.Context(), w.c.ID, epoch, s, w.now); err != nil {
			t.Fatal(err)
		}
	}
	save(3, pacing.State{Theta: 0.5})
	save(3, kept)
	save(2, pacing.State{Theta: 0.1}) // by the previous owner
	got, ok, err := w.store.Pacing(t.Context(), w.c.ID)
	if !ok || err != nil || !reflect.DeepEqual(got, kept) {
		t.Fatalf("%v %v\n%+v\n%+v", ok, err, got, kept)
	}
	if err := w.store.SavePacing(t.Context(), engine.CampaignID("gone"), 1, kept, w.now); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := w.store.Pacing(t.Context(), engine.CampaignID("gone")); ok {
		t.Fatal("kept for a campaign that does not exist")
	}
}
