package actors

import (
	"cmp"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	"dialler/actors/writer"
)

// Config are the settings of the tree. What is not set has the default that is named.
type Config struct {
	Writers   writer.Config
	Calls     call.Config
	Campaigns campaignactor.Config
	LeaseTTL  time.Duration // of a seat allotment, 30 s
	// AllowedCountries are where calls may go, ISO 3166; none: the countries of
	// the configured numbers (package destination).
	AllowedCountries []string
	// CalleeCap bounds the attempts to one number within CalleePeriod, over all
	// campaigns and the calls outside them; 0 = as often as may be.
	CalleeCap    int
	CalleePeriod time.Duration
	// WritesCap is how many writes may lie in memory on their way to a database
	// that takes less than it is given, 20,000; beyond it nothing is begun that
	// adds some.
	WritesCap int
	Log       zerolog.Logger
	// Actors are options of every actor, for tests: they inject faults by them.
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
