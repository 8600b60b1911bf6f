package campaign

import (
	"cmp"
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/call"
	"dialler/actors/host"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/campaign"
	core "dialler/engine/run"
)

// Deps are what the campaigns need beside what all calls do.
type Deps struct {
	*call.Process
	Config
	Store      Store
	Configs    Configs // nil: a campaign with a Config URL cannot start
	Writers    *writer.Group
	Numbers    *actor.PID
	Mailboxes  *host.Mailboxes[engine.CampaignID]
	Board      *Board
	TrunksDown func() bool // no active trunk takes calls
}

// Config are the settings of campaigns.
type Config struct {
	// ActivateTimeout bounds the switch of an import, 10 min; a file of a million
	// rows has 200 s more.
	ActivateTimeout time.Duration
	Tick            time.Duration // how often a run looks at its pace without other cause, 500 ms
	Reconcile       time.Duration // how often leases, legs and attempts are compared, 30 s
	// LookAhead is how many due contacts a run holds in memory, 2000: it asks
	// for more when half of them are dialled, a second before the last one at
	// 1000 dials a second.
	LookAhead int
	// RecordRun gives who keeps the inputs of a campaign's run, for each of its
	// activations; nil: nobody does.
	RecordRun func(engine.CampaignID, core.Config) RunRecorder
}

// WithDefaults fills in what is not set.
func (c Config) WithDefaults() Config {
	c.ActivateTimeout = cmp.Or(c.ActivateTimeout, 10*time.Minute)
	c.Tick = cmp.Or(c.Tick, 500*time.Millisecond)
	c.Reconcile = cmp.Or(c.Reconcile, 30*time.Second)
	c.LookAhead = cmp.Or(c.LookAhead, 2000)
	return c
}

// RunRecorder keeps what a run is told and what comes of it. It must not block.
type RunRecorder interface {
	// Before is given an input and gives what is applied in its place: the same, with
	// the process asked through the recorder. After is given the effects.
	Before(core.Input) core.Input
	After([]core.Effect)
}

// Configs fetches what lies at Config URLs.
type Configs interface {
	// FetchConfig blocks, at most some seconds. The codes of its errors are
	// "config_url_unreachable" and "config_url_invalid"; their sentences may be
	// shown.
	FetchConfig(ctx context.Context, url string) (campaign.Document, error)
}

// configPatience bounds a fetch beside the port's own bound.
const configPatience = 30 * time.Second

var errNoConfigs = engine.Invalid(campaign.FailureConfigUnreachable, "this process fetches no configurations")
