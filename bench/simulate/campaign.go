package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/pacing/trial"
	"dialler/engine/sim"
	"dialler/engine/window"
)

// This file plays the campaign section of a scenario: a whole campaign with windows, retries and
// passes, with the scenario's workers and people.

// contactsMost is the maximum length of a list; ten million take some 1.5 GiB.
const contactsMost = 10_000_000

// campaignSection contains the settings of a campaign under their API names, and others that no
// settings page has.
type campaignSection struct {
	campaign.Settings
	Contacts      int      `json:"contacts"`
	Start         string   `json:"start"` // RFC 3339
	AbandonCapPct *float64 `json:"abandon_cap_pct"`
	Share         *float64 `json:"false_positive_share"`
}

// installation is the world in which the plan's campaign is dialled under a policy; ok is false for
// a policy that no campaign can have.
func (p *Plan) installation(by trial.Policy) (in sim.Installation, ok bool, err error) {
	s := campaignSection{Settings: campaign.Defaults()}
	s.Name, s.Bot, s.Numbers = p.Name, "bot", []engine.PhoneNumber{"+493012345678"}
	s.Concurrency = int(math.Round(p.Scenario.Workers.At(0)))
	s.AbandonCapPPM = int(math.Round(p.Scenario.Cap * 1e6))
	s.RingTimeoutSec = max(15, int(math.Ceil(p.Scenario.Timeout.Seconds())))
	s.Window = window.Window{Zone: "UTC"} // all day
	if err := decodeSection(p.Campaign, &s); err != nil {
		return in, false, err
	}
	if s.AbandonCapPct != nil {
		s.AbandonCapPPM = int(math.Round(*s.AbandonCapPct * 10_000))
	}
	if s.Share != nil {
		s.FalsePositivePPM = int(math.Round(*s.Share * 1e6))
	}
	switch by {
	case trial.Strict, trial.Hybrid, trial.Progressive:
		s.PacingMode = string(by)
	default: // no campaign is dialled like this
		return in, false, nil
	}
	start, err := startOf(s.Start)
	switch {
	case err != nil:
		return in, false, err
	case s.Contacts < 1 || s.Contacts > contactsMost:
		return in, false, wrongSection("contacts", "must be from 1 to "+strconv.Itoa(contactsMost))
	}
	if err := s.Validate(); err != nil {
		return in, false, err
	}
	return sim.Installation{
		Start: start, Length: 31 * 24 * time.Hour, People: p.Scenario, Seats: int(
			math.Round(p.Scenario.Workers.At(0))), Large: s.Contacts > 20_000,
		Campaigns: []sim.CampaignPlan{{Settings: s.Settings, Contacts: s.Contacts,
			Acts: []sim.PlannedAct{{Action: campaign.ActionStart}}}},
	}, true, nil
}

func wrongSection(key, message string) error {
	return engine.Invalid("invalid_scenario", "campaign."+key+": "+message,
		engine.FieldError{Field: "campaign." + key, Code: "invalid", Message: message})
}

func startOf(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, wrongSection("start", `must be a time such as "2030-01-07T09:00:00+01:00"`)
	}
	return t, nil
}

// decodeSection decodes the section like the API's JSON: unknown names are an error.
func decodeSection(n *yaml.Node, s *campaignSection) error {
	var v any
	if err := n.Decode(&v); err != nil {
		return wrongSection("", "is not valid YAML: "+err.Error())
	}
	m, ok := v.(map[string]any)
	if !ok {
		return wrongSection("", "holds the settings of a campaign, one per line, and contacts: N")
	}
	b, err := json.Marshal(m)
	if err != nil {
		return wrongSection("", err.Error())
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return wrongSection("", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// CampaignRow is one played campaign as printed. Shares are per cent.
type CampaignRow struct {
	Policy          string             `json:"policy"`
	Seed            uint64             `json:"seed"`
	State           string             `json:"state"`
	Reason          string             `json:"reason,omitempty"` // why it ended
	DurationSeconds float64            `json:"duration_s"`
	DiallingSeconds float64            `json:"dialling_s"` // the part of that within the window, running
	ConnectsPerHour float64            `json:"connects_per_h"`
	AbandonPct      float64            `json:"abandon_pct"`
	UtilisationPct  float64            `json:"utilisation_pct"`
	Dials           int                `json:"dials"`
	Counters        *campaign.Counters `json:"counters"`
	Broken          string             `json:"broken,omitempty"` // an invariant of the dialler that was violated
}

// PlayCampaigns plays the plan's campaign with every policy that a campaign can have and every
// seed. A cancelled context stops it between two runs.
func PlayCampaigns(ctx context.Context, p *Plan) ([]CampaignRow, error) {
	var list []CampaignRow
	for _, by := range p.Policies {
		in, ok, err := p.installation(by)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, seed := range p.Seeds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := sim.RunCampaigns(in, seed)
			list = append(list, campaignRow(by, seed, &r))
		}
	}
	if len(list) == 0 {
		return nil, wrongSection("", "is played by the policies strict, hybrid and progressive only; name one of them")
	}
	return list, nil
}

func campaignRow(by trial.Policy, seed uint64, r *sim.CampaignsResult) CampaignRow {
	c := &r.Campaigns[0]
	row := CampaignRow{Policy: string(by), Seed: seed, State: string(c.State), Reason: string(c.CompletionReason),
		DurationSeconds: round((c.Ended - c.Started).Seconds(), 1), DiallingSeconds: round(c.Dialling.Seconds(), 1),
		ConnectsPerHour: round(c.ConnectsPerHour(), 1), UtilisationPct: percent(c.Utilisation()), Dials: c.Dials,
		Counters: &c.Counters}
	if c.FailureReason != "" {
		row.Reason = c.FailureReason
	}
	if a := c.Counters.AbandonRate; a != nil {
		row.AbandonPct = percent(*a)
	}
	if r.Broken != nil {
		row.Broken = r.Broken.Error()
	}
	return row
}

// WriteCampaignTable prints campaigns for people.
func WriteCampaignTable(w io.Writer, list []CampaignRow) error {
	lines := [][]string{{"policy", "seed", "state", "why", "duration", "connects/h", "abandon %", "busy %", "dials",
		"completed", "failed", "machines", "passes"}}
	for i := range list {
		r := &list[i]
		c := r.Counters
		passes := make([]string, len(c.Passes))
		for k := range c.Passes {
			passes[k] = strconv.Itoa(c.Passes[k].Attempted)
		}
		took := time.Duration(r.DurationSeconds * float64(time.Second)).Round(time.Second)
		lines = append(lines, []string{r.Policy, strconv.FormatUint(r.Seed, 10), r.State, r.Reason, took.String(),
			fmt.Sprintf("%.1f", r.ConnectsPerHour), fmt.Sprintf("%.2f", r.AbandonPct), fmt.Sprintf("%.1f", r.UtilisationPct),
			strconv.Itoa(r.Dials), strconv.Itoa(c.Completed), strconv.Itoa(c.Failed), strconv.Itoa(c.MachineDetected),
			strings.Join(passes, " ")})
	}
	if err := writeLines(w, lines); err != nil {
		return err
	}
	for i := range list {
		if b := list[i].Broken; b != "" {
			if _, err := fmt.Fprintln(w, "\nan invariant was broken: "+b); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteCampaignJSON prints campaigns for machines.
func WriteCampaignJSON(w io.Writer, list []CampaignRow) error {
	return encode(w, struct {
		Campaigns []CampaignRow `json:"campaigns"`
	}{list})
}
