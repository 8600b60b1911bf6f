package actors

import (
	"cmp"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	"dialler/actors/writer"
	"dialler/engine/frequency"
)

// Config are the settings of the tree. Unset fields have the documented default.
type Config struct {
	Writers   writer.Config
	Calls     call.Config
	Campaigns campaignactor.Config
	LeaseTTL  time.Duration // of a seat allotment, 30 s
	// AllowedCountries are the countries that may be called, ISO 3166; empty means the countries of
	// the configured numbers (package destination).
	AllowedCountries []string
	// Frequency limits how often a number is called, over all campaigns and the calls outside them.
	Frequency frequency.Rules
	// WritesCap is how many writes may queue in memory for a slow database, default 20,000; beyond
	// it nothing that adds writes is begun.
	WritesCap int
	Log       zerolog.Logger
	// Actors are options for every actor; tests inject faults with them.
	Actors []actor.PropsOption
}

func (c Config) withDefaults() Config {
	c.Writers, c.Campaigns = c.Writers.WithDefaults(), c.Campaigns.WithDefaults()
	c.Calls.Timeout = cmp.Or(c.Calls.Timeout, c.Writers.CommitTimeout)
	c.Calls = c.Calls.WithDefaults()
	c.LeaseTTL = cmp.Or(c.LeaseTTL, 30*time.Second)
	c.WritesCap = cmp.Or(c.WritesCap, 20_000)
	return c
}
