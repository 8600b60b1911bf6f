package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Simulate asks what would become of a campaign's list; the zero value uses its current settings.
// The same request with Seed and AsOf gives the same figures.
type Simulate struct {
	Seed int `json:"seed,omitempty"` // 1 when 0
	// AsOf limits the data to what was known at that time, within the last hour; nil means now.
	AsOf         *time.Time `json:"as_of,omitempty"`
	StartAt      *time.Time `json:"start_at,omitempty"`
	Contacts     int        `json:"contacts,omitempty"`
	AttemptsUsed int        `json:"attempts_used,omitempty"`
	// People are given as fractions in 0…1 and seconds; omitted fields keep their measured values.
	People *SimulatedPeople `json:"people,omitempty"`
	// WhatIf are the changed settings, as in openapi.yaml.
	WhatIf any `json:"what_if,omitempty"`
}

// SimulatedPeople describes the behaviour of the contacts: fractions in 0…1, means in seconds.
type SimulatedPeople struct {
	// CampaignID is the campaign whose attempts are measured; "" means the campaign asked about.
	CampaignID   string   `json:"campaign_id,omitempty"`
	AnswerRate   *float64 `json:"answer_rate,omitempty"`
	MachineShare *float64 `json:"machine_share,omitempty"`
	RingSeconds  *float64 `json:"ring_s,omitempty"`
	TalkSeconds  *float64 `json:"talk_s,omitempty"` // answer → end
}

// Simulation is the result.
type Simulation struct {
	CampaignID   string          `json:"campaign_id"`
	Seed         int             `json:"seed"`
	AsOf         time.Time       `json:"as_of"`
	StartAt      time.Time       `json:"start_at"`
	Contacts     int             `json:"contacts"`
	AttemptsUsed int             `json:"attempts_used"`
	People       SimulatedPeople `json:"people"`
	AsIs         SimulatedSide   `json:"as_is"`
	WhatIf       *SimulatedSide  `json:"what_if"` // nil if nothing was changed
	Trust        *Trust          `json:"trust"`   // nil without a back-test
}

// Band is a figure over many plays: one in ten was below Low, one in ten above High.
type Band struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// Trust is how well forecasts of finished runs have come true, in per cent.
type Trust struct {
	Runs                   int     `json:"runs"`
	DurationErrorPercent   float64 `json:"duration_error_pct"` // median
	ConnectedErrorPercent  float64 `json:"connected_error_pct"`
	DurationWithinPercent  float64 `json:"duration_within_pct"` // of the bands, which aim at 80
	ConnectedWithinPercent float64 `json:"connected_within_pct"`
}

// Foretold is a figure of a whole run: the forecast and the actual value.
type Foretold struct {
	Band
	Real float64 `json:"real"`
}

// BackTests are what simulations would have predicted during a campaign's runs.
type BackTests struct {
	BackTests []struct {
		Run    int `json:"run"`
		Points []struct {
			SharePercent int       `json:"share_pct"` // of the run's dials, placed by then
			At           time.Time `json:"at"`
			Measured     bool      `json:"measured"`
			Plays        int       `json:"plays"`
			Duration     Foretold  `json:"duration_s"` // s, start → end of the run
			Dials        Foretold  `json:"dials"`
			Connected    Foretold  `json:"connected"`
			Abandoned    Foretold  `json:"abandoned"`
		} `json:"points"`
	} `json:"back_tests"`
	Trust *Trust `json:"trust"`
}

// BackTests returns the back-tests of a campaign's runs, latest first.
func (c *Client) BackTests(ctx context.Context, campaignID string) (got BackTests, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: campaignPath(campaignID) + "/back-tests"}, &got)
	return got, err
}

// SimulatedSide is one of the two variants; its course is in Series.
type SimulatedSide struct {
	Settings json.RawMessage `json:"settings"`
	Forecast struct {
		Plays     int  `json:"plays"`
		Duration  Band `json:"duration_s"` // s, start → end
		Dials     Band `json:"dials"`
		Connected Band `json:"connected"`
		Abandoned Band `json:"abandoned"`
	} `json:"forecast"`
	Series  json.RawMessage `json:"series"`
	Summary struct {
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
// It takes up to three minutes. Codes: simulation_running, too_many_simulations,
// simulation_too_long.
func (c *Client) Simulate(ctx context.Context, campaignID string, s Simulate) (got Simulation, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: campaignPath(campaignID) + "/simulate", body: s,
		harmless: true}, &got)
	return got, err
}
