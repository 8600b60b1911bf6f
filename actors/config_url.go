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

// fetchedConfig is what a Start had to wait for.
type fetchedConfig struct {
	document campaign.Document
	err      error
}

// fetchConfig gets the document of a campaign that is to be started; the action
// comes back with it.
func (r *run) fetchConfig(m *actReady) {
	d, self, url := r.d, r.self, r.m.C.Settings.ConfigURL
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, configPatience)
		defer cancel()
		again := *m
		again.config = &fetchedConfig{err: errNoConfigs}
		if d.configs != nil {
			again.config.document, again.config.err = d.configs.FetchConfig(ctx, url)
		}
		again.config.document.URL = url
		d.root.Send(self, &again)
	}()
}

var errNoConfigs = engine.Invalid(campaign.FailureConfigUnreachable, "this process fetches no configurations")
