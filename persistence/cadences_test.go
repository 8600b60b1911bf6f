package persistence_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/campaign"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

func TestACadenceIsEditedByItsVersionAndStaysWhileACampaignNamesIt(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	ctx, who, at := t.Context(), engine.Who{Name: "ann@example.org"}, time.Now().UTC().Truncate(time.Microsecond)
	put := func(id engine.CadenceID, version int64, rules string) (cadence.Named, bool, error) {
		table, wrong := cadence.Parse("rules", rules)
		if wrong != nil {
			t.Fatal(wrong.Message)
		}
		return s.PutCadence(ctx, cadence.Named{ID: id, Name: "Evenings", Cadence: table, Version: version}, at, who)
	}
	made, created, err := put("evenings", 0, cadence.Example)
	if err != nil || !created || made.Version != 1 || made.String() != cadence.Example || !made.CreatedAt.Equal(at) {
		t.Fatalf("%v %v %+v", err, created, made)
	}
	if _, _, err := put("evenings", 0, "busy: 1m"); engine.ErrorCode(err) != "version_conflict" {
		t.Errorf("created again: %v", err)
	}
	if edited, created, err := put("evenings", 1, "busy: 1m"); err != nil || created || edited.Version != 2 {
		t.Errorf("%v %v %+v", err, created, edited)
	}
	var conflict *engine.Error
	if _, _, err := put("evenings", 1, "busy: 2m"); !errors.As(err, &conflict) || conflict.Code != "version_conflict" ||
		conflict.Current.(cadence.Named).Version != 2 {
		t.Errorf("an edit of an earlier version: %v", err)
	}
	if _, _, err := put("gone", 3, "busy: 1m"); engine.ErrorCode(err) != "cadence_not_found" {
		t.Error(err)
	}
	if list, err := s.Cadences(ctx); err != nil || len(list) != 1 || list[0].String() != "busy: 1m" {
		t.Errorf("%v %+v", err, list)
	}
	if err := s.InsertCampaign(ctx, campaign.Campaign{ID: "cmp_1", Settings: campaign.Settings{Cadence: "evenings"},
		State: campaign.Completed, CreatedAt: at}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteCadence(ctx, "evenings", who); !errors.As(err, &conflict) || conflict.Code != "cadence_in_use" ||
		len(conflict.Fields) != 1 {
		t.Error(err)
	}
	if _, _, err := put("mornings", 0, "busy: 1m"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteCadence(ctx, "mornings", who); err != nil {
		t.Error(err)
	}
	if err := s.DeleteCadence(ctx, "mornings", who); engine.ErrorCode(err) != "cadence_not_found" {
		t.Error(err)
	}
	for i := 2; i <= 200; i++ {
		if _, _, err := put(engine.CadenceID(fmt.Sprint("c", i)), 0, "busy: 1m"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := put("one_more", 0, "busy: 1m"); engine.ErrorCode(err) != "too_many_cadences" {
		t.Error(err)
	}
}
