package process

import (
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	campaignactor "dialler/actors/campaign"
	"dialler/engine"
	"dialler/engine/run"
	"dialler/process/flights"
)

// FlightsDir is the folder of the recordings of runs in a data folder. It is not that of recordings
// of calls.
func FlightsDir(data string) string { return filepath.Join(data, "flights") }

// NewFlights returns the keeper of a data folder's recordings of runs.
func NewFlights(data string, settings func() Flags, now func() time.Time, log zerolog.Logger) *flights.Keeper {
	return flights.New(flights.Config{Dir: FlightsDir(data), Program: ThisBuild().Version, Now: now, Log: log,
		Keep: func() time.Duration { return time.Duration(settings().KeepFlights) * day },
		Size: int64(settings().FlightsSize) << 20, Closed: flightClosed})
}

// flightClosed is told the SHA-256 of a recording up to the end of a run, and of the whole recording
// with run 0. The log has it already.
func flightClosed(engine.CampaignID, int, string, int64, [32]byte) {}

// openFlights opens the folder of recordings of runs. It is kept even when nothing is recorded any
// more: what is there is past its retention some day, and persons are erased from it.
func (p *Process) openFlights(data string) {
	p.flights = NewFlights(data, p.settings, p.clock.Now, p.log)
	p.closing = append(p.closing, p.flights.Close)
	p.background(p.flights.Run)
}

// recordRun is the recorder of a campaign's run, nil when runs are not recorded.
func (p *Process) recordRun() func(engine.CampaignID, run.Config) campaignactor.RunRecorder {
	switch {
	case p.tuning.recordRun != nil:
		return p.tuning.recordRun
	case !p.flags.RecordRuns:
		return nil
	}
	return func(id engine.CampaignID, cfg run.Config) campaignactor.RunRecorder {
		if r := p.flights.Record(id, cfg); r != nil {
			return r
		}
		return nil
	}
}
