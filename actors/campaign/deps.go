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

// Deps are what the campaigns need in addition to what all calls need.
type Deps struct {
	*call.Process
	Config
	Store      Store
	Configs    Configs // nil means a campaign with a Config URL cannot start
	Writers    *writer.Group
	Numbers    *actor.PID
	Mailboxes  *host.Mailboxes[engine.CampaignID]
	Board      *Board
	TrunksDown func() bool // whether no active trunk takes calls
}

// Config configures campaigns.
type Config struct {
	// ActivateTimeout bounds the switch of an import, default 10 min; a file of a million rows gets
	// 200 s more.
	ActivateTimeout time.Duration
	Tick            time.Duration // interval at which a run evaluates its pace, 500 ms
	Reconcile       time.Duration // interval of comparing leases, legs and attempts, 30 s
	// LookAhead is how many due contacts a run holds in memory, default 2000: it reads more when
	// half of them are dialled, a second before the last one at 1000 dials a second.
	LookAhead int
	// RecordRun returns the recorder of a campaign's run, for each of its activations; nil means
	// nothing is recorded.
	RecordRun func(engine.CampaignID, core.Config) RunRecorder
}

// WithDefaults fills in unset fields.
func (c Config) WithDefaults() Config {
	c.ActivateTimeout = cmp.Or(c.ActivateTimeout, 10*time.Minute)
	c.Tick = cmp.Or(c.Tick, 500*time.Millisecond)
	c.Reconcile = cmp.Or(c.Reconcile, 30*time.Second)
	c.LookAhead = cmp.Or(c.LookAhead, 2000)
	return c
}

// RunRecorder records a run's inputs and effects. It must not block.
type RunRecorder interface {
	// Before gets an input and returns the one to apply in its place: the same, but with queries to
	// the process going through the recorder. After gets the effects. Close follows the last input,
	// or the one at which the run crashed.
	Before(core.Input) core.Input
	After([]core.Effect)
	Close()
}

// Configs fetches the documents at Config URLs.
type Configs interface {
	// FetchConfig blocks for some seconds at most. Its error codes are "config_url_unreachable" and
	// "config_url_invalid"; the messages may be shown to users.
	FetchConfig(ctx context.Context, url string) (campaign.Document, error)
}

// configPatience bounds a fetch in addition to the port's own bound.
const configPatience = 30 * time.Second

var errNoConfigs = engine.Invalid(campaign.FailureConfigUnreachable, "this process does not fetch configurations")
