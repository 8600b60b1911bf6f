package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Simulate asks what would become of a campaign's list; the zero value, by its
// settings as they are. The same request gives the same figures when it has Seed
// and StartAt.
type Simulate struct {
	Seed         int        `json:"seed,omitempty"` // 1 when 0
	StartAt      *time.Time `json:"start_at,omitempty"`
	Contacts     int        `json:"contacts,omitempty"`
	AttemptsUsed int        `json:"attempts_used,omitempty"`
	// People are given as shares in 0…1 and seconds; what is left out is as it was
	// measured.
	People *SimulatedPeople `json:"people,omitempty"`
	// WhatIf are settings that are changed, as openapi.yaml has them.
	WhatIf any `json:"what_if,omitempty"`
}

// SimulatedPeople are the people who are called: shares in 0…1, means in seconds.
type SimulatedPeople struct {
	AnswerRate   *float64 `json:"answer_rate,omitempty"`
	MachineShare *float64 `json:"machine_share,omitempty"`
	RingSeconds  *float64 `json:"ring_s,omitempty"`
	RingSpread   *float64 `json:"ring_sd_s,omitempty"` // standard deviation
	TalkSeconds  *float64 `json:"talk_s,omitempty"`
	ShortShare   *float64 `json:"short_share,omitempty"`
}

// Simulation is what became of it.
type Simulation struct {
	CampaignID   string          `json:"campaign_id"`
	Seed         int             `json:"seed"`
	StartAt      time.Time       `json:"start_at"`
	Contacts     int             `json:"contacts"`
	AttemptsUsed int             `json:"attempts_used"`
	People       SimulatedPeople `json:"people"`
	AsIs         SimulatedSide   `json:"as_is"`
	WhatIf       *SimulatedSide  `json:"what_if"` // nil when nothing was to be changed
}

// SimulatedSide is one of the two; the course of it is in Series.
type SimulatedSide struct {
	Settings json.RawMessage `json:"settings"`
	Series   json.RawMessage `json:"series"`
	Summary  struct {
		Ended               string   `json:"ended"` // list_done, window_ended, horizon, budget
		DurationSeconds     float64  `json:"duration_s"`
		DiallingSeconds     float64  `json:"dialling_s"`
		ListDiallingSeconds *float64 `json:"list_dialling_s"`
		ConnectsPerHour     float64  `json:"connects_per_h"`
		BusyPercent         float64  `json:"busy_pct"`
		AbandonPercent      *float64 `json:"abandon_pct"`
		Dials               int      `json:"dials"`
		Connected           int      `json:"connected"`
		Abandoned           int      `json:"abandoned"`
		Machines            int      `json:"machines"`
		Contacts            int      `json:"contacts"`
		ContactsPlayed      int      `json:"contacts_played"`
		ContactsLeft        int      `json:"contacts_left"`
		ContactsLeftAtClose *int     `json:"contacts_left_at_close"`
		Constraint          string   `json:"constraint"`
	} `json:"summary"`
}

// Simulate plays a campaign's list on a virtual clock; nothing is stored or dialled.
// It takes up to a minute. Codes: simulation_running, too_many_simulations,
// simulation_too_long.
func (c *Client) Simulate(ctx context.Context, campaignID string, s Simulate) (got Simulation, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: campaignPath(campaignID) + "/simulate", body: s, harmless: true}, &got)
	return got, err
}
