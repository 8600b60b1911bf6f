package actors

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

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
