package access

import (
	"context"
	"errors"
	nethttp "net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Who does not wait for the provider ends nothing for those who do.
func TestTheProviderIsAskedOnceForAllWhoWait(t *testing.T) {
	var asked atomic.Int64
	reached, answers := make(chan struct{}), make(chan struct{})
	var at string
	served := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		if asked.Add(1) == 1 {
			close(reached)
		}
		<-answers
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"issuer":"` + at + `"}`))
	}))
	defer served.Close()
	at = served.URL
	now := func() time.Time { return time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC) }
	p := newProvider(&OIDC{Issuer: at, Client: &nethttp.Client{}}, now, zerolog.Nop())
	first, gone := context.WithCancel(context.Background())
	left := make(chan error)
	go func() {
		_, err := p.discover(first)
		left <- err
	}()
	<-reached
	gone()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who went away is told %v", err)
	}
	told := make(chan error)
	for range 3 {
		go func() {
			found, err := p.discover(context.Background())
			if err == nil && found == nil {
				err = errors.New("nothing was found")
			}
			told <- err
		}()
	}
	close(answers)
	for range 3 {
		if err := <-told; err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
