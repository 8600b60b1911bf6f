package outgoing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/egress"
)

// A fetch of a Config URL must end well before the API's deadline of the Start that waits for it.
const (
	configTimeout   = 8 * time.Second
	configRedirects = 3
)

// Configs fetches the documents at Config URLs.
type Configs struct{ client *nethttp.Client }

func NewConfigs(allowPrivate bool) *Configs {
	return &Configs{
		client: egress.New(egress.Config{Timeout: configTimeout, AllowPrivate: allowPrivate, Redirects: configRedirects}),
	}
}

func fetchable(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// FetchConfig implements campaign.Configs. The address stays out of the errors, because it may
// contain a secret.
func (f *Configs) FetchConfig(ctx context.Context, address string) (campaign.Document, error) {
	none := campaign.Document{}
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, address, nil)
	if err != nil || !fetchable(req.URL) {
		return none, unreachable("it is not an http or https address")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		if errors.Is(err, egress.ErrForbidden) {
			return none, unreachable(
				"its server is on a private network or on this machine; --config-allow-private lets it be fetched from there",
			)
		}
		return none, unreachable(fmt.Sprint(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != nethttp.StatusOK {
		return none, unreachable("its server answered " + resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, campaign.DocumentCap+1))
	if err != nil {
		return none, unreachable("the document was cut short")
	}
	if len(body) > campaign.DocumentCap {
		return none, engine.Invalid(campaign.FailureConfigInvalid, "the document has more than 256 KiB")
	}
	if b := bytes.TrimSpace(body); len(b) == 0 || b[0] != '{' || !json.Valid(b) {
		return none, engine.Invalid(campaign.FailureConfigInvalid, "the document is not a JSON object")
	}
	sum := sha256.Sum256(body)
	return campaign.Document{URL: address, Body: body, Hash: hex.EncodeToString(sum[:]), FetchedAt: time.Now()}, nil
}

func unreachable(why string) error {
	return engine.Invalid(campaign.FailureConfigUnreachable, "the Config URL cannot be fetched: "+why)
}
