package outgoing

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"time"

	"dialler/engine"
	"dialler/engine/holidays"
	"dialler/http/egress"
)

// Holidays fetches files of holidays.
type Holidays struct{ client *nethttp.Client }

// NewHolidays returns a client under the rules of requests to others.
func NewHolidays(allowPrivate bool) *Holidays {
	return &Holidays{client: egress.New(egress.Config{Timeout: 8 * time.Second, AllowPrivate: allowPrivate, Redirects: 3})}
}

// Fetch returns the text of a file, at most a byte more than is read of one. The address stays out of
// the errors, because it may contain a secret.
func (f *Holidays) Fetch(ctx context.Context, address string) (string, error) {
	cannot := func(why string) (string, error) {
		return "", engine.Invalid("holidays_unreachable", "the file cannot be fetched: "+why)
	}
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, address, nil)
	if err != nil || !fetchable(req.URL) {
		return cannot("it is not an http or https address")
	}
	req.Header.Set("Accept", "text/calendar, text/plain;q=0.5")
	resp, err := f.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		if errors.Is(err, egress.ErrForbidden) {
			return cannot("its server is on a private network or on this machine; --webhook-allow-private lets it be fetched " +
				"from there")
		}
		return cannot(fmt.Sprint(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != nethttp.StatusOK {
		return cannot("its server answered " + resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, holidays.FileMost+1))
	if err != nil {
		return cannot("it was cut short")
	}
	return string(body), nil
}
