package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOnlyAddressesOfThePublicInternetAreReached(t *testing.T) {
	f := func(want bool, addresses ...string) {
		t.Helper()
		for _, a := range addresses {
			addr, err := netip.ParseAddr(a)
			if err != nil {
				t.Fatal(err)
			}
			if got := Public(addr); got != want {
				t.Errorf("%s: %v, want %v", a, got, want)
			}
			err = control("tcp", net.JoinHostPort(a, "443"), nil)
			if (err == nil) != want {
				t.Errorf("%s: %v", a, err)
			}
		}
	}
	f(true, "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.1", "192.0.1.1",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001::200e", "::ffff:1.1.1.1",
		"64:ff9b::101:101", "2002:101:101::1")
	f(false,
		// This host, private.
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
		"192.168.0.1",
		// Metadata, link-local, carrier-grade NAT.
		"169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "100.127.255.255",
		// Special.
		"192.0.0.192", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "192.88.99.1",
		// Multicast, reserved, broadcast.
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		// IPv4 in IPv6.
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:100.64.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1",
		"fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "100::1", "2001::1", "2001:db8::1",
		"3fff::1", "4000::1")
	if err := control("tcp", "nonsense", nil); !errors.Is(err, ErrForbidden) {
		t.Errorf("%v", err)
	}
}

func get(t *testing.T, c *nethttp.Client, url string) (*nethttp.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

func TestANameIsJudgedByTheAddressThatIsDialled(t *testing.T) {
	served := 0
	srv := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { served++ }))
	defer srv.Close()
	c := New(Config{Timeout: 10 * time.Second})
	byName := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	for _, url := range []string{srv.URL, byName} {
		if _, err := get(t, c, url); Problem(err) != "address_forbidden" {
			t.Errorf("%s: %v", url, err)
		}
	}
	if served != 0 {
		t.Errorf("%d requests came through", served)
	}
	if _, err := get(t, New(Config{Timeout: 10 * time.Second, AllowPrivate: true}), byName); err != nil || served != 1 {
		t.Errorf("%v, %d served", err, served)
	}
}

func TestRedirectsAreFollowedAsFarAsIsAllowed(t *testing.T) {
	mux := nethttp.NewServeMux()
	for i := range 5 {
		mux.HandleFunc(fmt.Sprintf("/%d", i), func(w nethttp.ResponseWriter, r *nethttp.Request) {
			nethttp.Redirect(w, r, fmt.Sprintf("/%d", i+1), nethttp.StatusFound)
		})
	}
	mux.HandleFunc("/5", func(nethttp.ResponseWriter, *nethttp.Request) {})
	mux.HandleFunc("/file", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(nethttp.StatusFound)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	none := New(Config{Timeout: 10 * time.Second, AllowPrivate: true})
	if resp, err := get(t, none, srv.URL+"/4"); err != nil || resp.StatusCode != nethttp.StatusFound {
		t.Errorf("%v", err)
	}
	some := New(Config{Timeout: 10 * time.Second, AllowPrivate: true, Redirects: 3})
	if resp, err := get(t, some, srv.URL+"/2"); err != nil || resp.StatusCode != nethttp.StatusOK {
		t.Errorf("%v", err)
	}
	if _, err := get(t, some, srv.URL+"/1"); !errors.Is(err, ErrRedirects) {
		t.Errorf("%v", err)
	}
	if _, err := get(t, some, srv.URL+"/file"); !errors.Is(err, ErrScheme) {
		t.Errorf("%v", err)
	}
}

func TestWhatWentWrongHasACode(t *testing.T) {
	secured := httptest.NewTLSServer(nethttp.NotFoundHandler())
	secured.Config.ErrorLog = nil
	defer secured.Close()
	hangs := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		<-r.Context().Done()
	}))
	defer hangs.Close()
	plain := httptest.NewServer(nethttp.NotFoundHandler())
	defer plain.Close()
	// A port without a listener that is not assigned to anyone else: a client's.
	taken, err := net.Dial("tcp", plain.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	f := func(url, want string, timeout time.Duration) {
		t.Helper()
		if _, err := get(t, New(Config{Timeout: timeout, AllowPrivate: true}), url); err == nil || Problem(err) != want {
			t.Errorf("%s: %v is %q, want %q", url, err, Problem(err), want)
		}
	}
	f("http://"+taken.LocalAddr().String(), "refused", 10*time.Second)
	f(secured.URL, "tls", 10*time.Second)
	f(strings.Replace(plain.URL, "http:", "https:", 1), "broken", 10*time.Second)
	f(hangs.URL, "timeout", 50*time.Millisecond)
	for err, want := range map[error]string{
		&net.DNSError{Err: "no such host"}: "dns", tls.AlertError(
			40): "tls", syscall.ECONNRESET: "broken", context.DeadlineExceeded: "timeout",
	} {
		if got := Problem(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	f := func(v string, want time.Duration) {
		t.Helper()
		if got := RetryAfter(nethttp.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
	f("", 0)
	f("120", 2*time.Minute)
	f("-5", 0)
	f("99999999999999", retryAfterCap)
	f("99999999999999999999", 0)
	f("Tue, 01 Jan 2030 12:05:00 GMT", 5*time.Minute)
	f("Tue, 01 Jan 2030 11:05:00 GMT", 0)
	f("soon", 0)
}
