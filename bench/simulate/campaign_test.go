package simulate

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dialler/engine"
)

const small = `
N: 5
seeds: [1, 2]
policies: [strict, progressive, clairvoyant]
campaign:
  contacts: 60
  max_attempts: 2
  retry_delay_s: 60
  abandon_cap_pct: 1.5
  window: {start: "09:00", end: "17:00", zone: UTC}
`

func TestTheSectionCampaignIsPlayedByEveryPolicyThatCampaignsHave(t *testing.T) {
	p, err := Read("small.yaml", strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	list, err := PlayCampaigns(t.Context(), &p)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 4 {
		t.Fatalf("%d runs", len(list))
	}
	for i := range list {
		r := &list[i]
		c := r.Counters
		if r.State != "completed" || r.Reason != "max_retries_completed" || r.Broken != "" || c.Total != 60 ||
			c.Pending != 0 ||
			len(c.Passes) != 2 || c.Passes[0].Attempted != 60 || r.ConnectsPerHour <= 0 || r.DurationSeconds <= 0 ||
			r.Dials < 60 {
			t.Errorf("%+v", r)
		}
		if r.Policy == "progressive" && r.AbandonPct != 0 {
			t.Errorf("progressive dialling abandoned %v %%", r.AbandonPct)
		}
	}
	var out bytes.Buffer
	if err := WriteCampaignJSON(&out, list); err != nil {
		t.Fatal(err)
	}
	var back struct{ Campaigns []CampaignRow }
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || len(back.Campaigns) != 4 || back.Campaigns[1].Seed != 2 ||
		back.Campaigns[2].Policy != "progressive" {
		t.Fatalf("%v %s", err, out.String())
	}
	out.Reset()
	if err := WriteCampaignTable(&out, list); err != nil || strings.Count(out.String(), "max_retries_completed") != 4 {
		t.Fatalf("%v %s", err, out.String())
	}
}

func TestAMistakeInTheSectionCampaignIsNamed(t *testing.T) {
	for _, c := range []struct{ line, field string }{
		{"contacts: 0", "contacts"},
		{"contacts: 99999999", "contacts"},
		{"contacts: 10\n  start: today", "start"},
		{"contacts: 10\n  max_attempt: 3", "max_attempt"},
		{"contacts: 10\n  max_attempts: 99", "max_attempts"},
		{"contacts: many", "contacts"},
	} {
		p, err := Read("x", strings.NewReader("policies: [strict]\ncampaign:\n  "+c.line+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = PlayCampaigns(t.Context(), &p)
		if err == nil || engine.ErrorCode(err) == "" {
			t.Errorf("%q was taken: %v", c.line, err)
			continue
		}
		e := err.(*engine.Error) //nolint:errorlint // of ours
		said := e.Detail
		for _, f := range e.Fields {
			said += f.Field
		}
		if !strings.Contains(said, c.field) {
			t.Errorf("%q: %v", c.line, said)
		}
	}
	p, err := Read("x", strings.NewReader("policies: [ratio]\ncampaign:\n  contacts: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PlayCampaigns(t.Context(), &p); err == nil {
		t.Error("a campaign was dialled by a fixed ratio")
	}
}
