package memstore_test

import (
	"context"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/memstore"
)

func TestAnErasedPersonIsATombstoneOfTheSameVersion(t *testing.T) {
	ctx, now := context.Background(), time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Options{Now: func() time.Time { return now }})
	const n, stone = engine.PhoneNumber("+4915112345678"), engine.PhoneNumber("erased:1")
	if err := s.InsertCampaign(ctx, campaign.Campaign{ID: "c", Run: 1}); err != nil {
		t.Fatal(err)
	}
	s.Lock()
	s.PutContact(contact.Contact{ID: "k", Campaign: "c", Number: n, Variables: map[string]string{"name": "x"}, Run: 1,
		State: contact.Pending, DueAt: &now, Version: 3})
	s.Unlock()
	s.Erase(n, stone)
	if _, there, _ := s.ContactByNumber(ctx, "c", n); there {
		t.Error("the number is still known")
	}
	c, ok, _ := s.ContactByNumber(ctx, "c", stone)
	if !ok || c.ID != "k" || c.Variables != nil || c.Version != 3 {
		t.Errorf("%+v", c)
	}
	counters, _ := s.Counters(ctx, "c", 1)
	if counters.Total != 1 || counters.Pending != 1 {
		t.Errorf("%+v", counters)
	}
}
