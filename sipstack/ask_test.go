package sipstack_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

func askWithin(t *testing.T, s *sipstack.Stack, uri string, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.Ask(ctx, uri)
}

func TestAnAddressIsAskedWhetherItTakesCalls(t *testing.T) {
	s := newStack(t, sipstack.Config{})
	f := func(status, want string) {
		t.Helper()
		u := script{sip.OPTIONS: answers(status)}.start(t)
		err := askWithin(t, s, fmt.Sprintf("sip:bot@127.0.0.1:%d", u.port()), patience)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", status, err, want)
		}
		if got := u.request(sip.OPTIONS, 1); got.Recipient.User != "bot" || got.MaxForwards() == nil || len(got.Body()) != 0 {
			t.Errorf("asked with %s", got)
		}
	}
	f("200 OK", "")
	f("404 Not Found", "")
	f("503 Service Unavailable", "SIP 503")
	f("408 Request Timeout", "SIP 408")
	f("500 Server Internal Error", "SIP 500")
	if err := askWithin(t, s, "sip:@", patience); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Error(err)
	}
}

func TestAQuestionIsRepeatedAndGivenUpWithItsTime(t *testing.T) {
	s := newStack(t, sipstack.Config{Timers: sipstack.Timers{T1: 20 * time.Millisecond}})
	var heard atomic.Int64
	u := newUAS(t, func(u *uas, m sip.Message, from netip.AddrPort) {
		if r, ok := m.(*sip.Request); ok && heard.Add(1) == 3 {
			u.reply(r, from, "200 OK", "far", "", "")
		}
	})
	uri := fmt.Sprintf("sip:bot@127.0.0.1:%d", u.port())
	if err := askWithin(t, s, uri, patience); err != nil || len(u.copies(sip.OPTIONS)) < 3 {
		t.Errorf("%v after %d requests", err, len(u.copies(sip.OPTIONS)))
	}
	if err := askWithin(t, s, uri, 100*time.Millisecond); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("nobody answers: %v", err)
	}
	if err := askWithin(t, s, uri+";transport=tcp", patience); err == nil ||
		!strings.Contains(err.Error(), "nothing can be sent") {
		t.Errorf("nobody listens: %v", err)
	}
}
