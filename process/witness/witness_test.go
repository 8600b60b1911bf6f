package witness

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine/anchor"
	tsa "dialler/engine/enginetest/authority"
	"dialler/engine/webhook"
)

var (
	now  = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	seal = anchor.Seal{N: 7, Hash: sha256.Sum256([]byte("seven")), At: now.Add(-time.Minute)}
)

func config() Config {
	return Config{Installation: "abc123", Secret: []byte("a secret of the webhook's owner."), AllowPrivate: true,
		Store: Keys{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
		Now:   func() time.Time { return now }}
}

func open(t *testing.T, address string, c Config) Witness {
	t.Helper()
	w, err := Open(address, c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAnAddressThatNamesNoWitnessIsRefused(t *testing.T) {
	c := config()
	c.AllowPrivate = false
	for _, a := range []string{"ftp://x/y", "file://host/x", "file:relative", "mailto:nobody", "mailto:a@example.org",
		"https://u:p@example.org", "http://example.org", "s3+http://example.org/b", "s3+https://example.org/",
		"s3+https://example.org/b?days=0", "::"} {
		if _, err := Open(a, c); err == nil {
			t.Errorf("%s was taken", a)
		}
	}
	c.Secret, c.Store = nil, Keys{}
	for _, a := range []string{"https://example.org/x", "s3+https://example.org/b"} {
		if _, err := Open(a, c); err == nil {
			t.Errorf("%s was taken without its keys", a)
		}
	}
	c.SMTP = "smtp://user@mail.example.org"
	if _, err := Open("mailto:a@example.org", c); err == nil {
		t.Error("a user without a password was taken")
	}
}

func TestAddressesOfThisNetworkAreNotReached(t *testing.T) {
	reached := false
	s := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) { reached = true }))
	defer s.Close()
	c := config()
	c.AllowPrivate, c.SMTP = false, "smtp://"+s.Listener.Addr().String()
	for _, a := range []string{strings.Replace(s.URL, "http", "tsa+http", 1), "mailto:a@example.org"} {
		if _, err := open(t, a, c).Show(t.Context(), seal); err == nil || err.Error() != "address_forbidden" {
			t.Errorf("%s: %v", a, err)
		}
	}
	if reached {
		t.Error("it was reached")
	}
}

func TestAWebhookIsShownASignedSealAndItsAnswerIsTheReceipt(t *testing.T) {
	c := config()
	status := 200
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		if want := webhook.Sign(r.Header.Get(webhook.HeaderID), now, body, c.Secret); r.Header.Get(
			webhook.HeaderSignature) != want || r.Header.Get(webhook.HeaderTimestamp) != webhook.Timestamp(now) {
			t.Errorf("the signature is wrong: %v", r.Header)
		}
		if !bytes.Equal(body, anchor.Statement(seal, "abc123")) {
			t.Errorf("%s", body)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "kept"+strings.Repeat(".", receiptCap))
	}))
	defer s.Close()
	w := open(t, s.URL+"/seals?token=hidden", c)
	got, err := w.Show(t.Context(), seal)
	var a answer
	if err != nil || json.Unmarshal(got, &a) != nil || len(a.Body) != receiptCap || !strings.HasPrefix(a.Body, "kept") ||
		a.Date == "" {
		t.Errorf("%s %v", got, err)
	}
	if w.URL() != s.URL+"/seals" || w.Kind() != anchor.Webhook {
		t.Errorf("%s %s", w.Kind(), w.URL())
	}
	status = 500
	if _, err := w.Show(t.Context(), seal); err == nil || err.Error() != "it answered 500" {
		t.Errorf("%v", err)
	}
}

func TestAFileGrowsByALineThatComparesWithTheSeals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seals")
	w := open(t, "file://"+path, config())
	for n := range int64(3) {
		if _, err := w.Show(t.Context(), anchor.Seal{N: n, Hash: seal.Hash}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []anchor.Receipt
	if err := anchor.Read(bytes.NewReader(b), func(r anchor.Receipt) { list = append(list, r) }); err != nil ||
		len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	wrong := anchor.Compare(list, nil, func(n int64) (anchor.Hash, bool) {
		return map[int64]anchor.Hash{0: seal.Hash, 1: {1}}[n], n < 2
	})
	if len(wrong) != 2 || !strings.Contains(wrong[0], "seal 1,") || !strings.Contains(wrong[1], "seal 2,") {
		t.Errorf("%q", wrong)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// The examples of "Signature Calculations for the Authorization Header" in the documentation of
// Amazon S3.
func TestASignatureIsTheOneThatAmazonPublishes(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		method, url, payload string
		headers              map[string]string
		want                 string
	}{
		{"GET", "/test.txt", empty, map[string]string{"Range": "bytes=0-9"},
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"PUT", "/test$file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"},
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{"GET", "/?lifecycle", empty, nil, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"GET", "/?max-keys=2&prefix=J", empty, nil, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		r := httptest.NewRequest(c.method, "https://examplebucket.s3.amazonaws.com"+c.url, nil)
		for name, v := range c.headers {
			r.Header.Set(name, v)
		}
		sign(r, c.payload, config().Store, "us-east-1", at)
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) {
			t.Errorf("%s %s: %s", c.method, c.url, got)
		}
	}
}

func TestAnObjectIsLockedAndItsVersionIsTheReceipt(t *testing.T) {
	c := config()
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		sum := sha256.Sum256(body)
		again := r.Clone(context.Background())
		again.Header = nethttp.Header{}
		for _, name := range []string{"Content-Type", "X-Amz-Checksum-Sha256", "X-Amz-Object-Lock-Mode",
			"X-Amz-Object-Lock-Retain-Until-Date"} {
			again.Header.Set(name, r.Header.Get(name))
		}
		sign(again, hex.EncodeToString(sum[:]), c.Store, "eu-central-1", now)
		if r.Header.Get("Authorization") != again.Header.Get("Authorization") {
			t.Errorf("signed as %s, want %s", r.Header.Get("Authorization"), again.Header.Get("Authorization"))
		}
		if r.Method != "PUT" || r.URL.Path != "/bucket/seals/000000000007-"+seal.Hash.String()+".json" ||
			r.Header.Get("X-Amz-Object-Lock-Mode") != "COMPLIANCE" ||
			r.Header.Get("X-Amz-Object-Lock-Retain-Until-Date") != "2026-12-01T08:00:00Z" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		w.Header().Set("ETag", `"5d41"`)
		w.Header().Set("X-Amz-Version-Id", "v1")
	}))
	defer s.Close()
	w := open(t, strings.Replace(s.URL, "http", "s3+http", 1)+"/bucket/seals?region=eu-central-1&days=10", c)
	got, err := w.Show(t.Context(), seal)
	var a answer
	if err != nil || json.Unmarshal(got, &a) != nil || a.ETag != `"5d41"` || a.Version != "v1" || a.Date == "" {
		t.Errorf("%s %v", got, err)
	}
}

// TestATimeStampAuthorityVouchesForASeal has OpenSSL as the authority.
func TestATimeStampAuthorityVouchesForASeal(t *testing.T) {
	a := tsa.New(t, "")
	var other func(query []byte) []byte
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		query, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Type") != "application/timestamp-query" {
			t.Errorf("%v", r.Header)
		}
		if other != nil {
			query = other(query)
		}
		_, _ = w.Write(a.Answer(query))
	}))
	defer s.Close()
	w := open(t, strings.Replace(s.URL, "http", "tsa+http", 1), config())
	got, err := w.Show(t.Context(), seal)
	if err != nil {
		t.Fatal(err)
	}
	a.Verify(got, seal.Hash.String())
	receipt := anchor.Receipt{Kind: anchor.TimeStamp, N: 7, Hash: seal.Hash, Data: got}
	forged := receipt
	forged.Hash[0] ^= 1
	have := func(int64) (anchor.Hash, bool) { return forged.Hash, true }
	if wrong := anchor.Compare([]anchor.Receipt{forged}, nil, have); len(wrong) != 1 ||
		!strings.Contains(wrong[0], "another hash") {
		t.Errorf("a receipt whose hash was changed with the database: %q", wrong)
	}
	if wrong := anchor.Compare([]anchor.Receipt{receipt}, nil, func(int64) (anchor.Hash, bool) {
		return seal.Hash, true
	}); len(wrong) != 0 {
		t.Errorf("%q", wrong)
	}
	for what, c := range map[string]struct {
		change func([]byte) []byte
		says   string
	}{
		"another hash": {func(q []byte) []byte {
			at := bytes.Index(q, seal.Hash[:])
			return slices.Concat(q[:at], []byte{seal.Hash[0] ^ 1}, q[at+1:])
		}, "another hash"},
		"another nonce": {func(q []byte) []byte {
			at := len(q) - 4 // the last byte before the BOOLEAN
			return slices.Concat(q[:at], []byte{q[at] ^ 1}, q[at+1:])
		}, "another request"},
		"another algorithm": {func(q []byte) []byte {
			return bytes.Replace(q, []byte{0x04, 0x02, 0x01}, []byte{0x04, 0x02, 0x09}, 1)
		}, "refused: status 2"},
	} {
		other = c.change
		if _, err := w.Show(t.Context(), seal); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	other = nil
	c := config()
	c.Roots = x509.NewCertPool() // which nobody vouches by
	if _, err := open(t, strings.Replace(s.URL, "http", "tsa+http", 1), c).Show(t.Context(), seal); err == nil ||
		!strings.Contains(err.Error(), "nobody among the trusted") {
		t.Errorf("%v", err)
	}
}

// mailServer takes one message at a time, and says what it was given.
func mailServer(t *testing.T) (address string, messages <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan string, 1)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewScanner(conn)
			say := func(s string) { _, _ = io.WriteString(conn, s+"\r\n") }
			say("220 here")
			var text strings.Builder
			for body := false; in.Scan(); {
				switch line := in.Text(); {
				case body && line == ".":
					body = false
					out <- text.String()
					say("250 kept")
				case body:
					text.WriteString(line + "\n")
				case line == "DATA":
					body = true
					say("354 go on")
				case line == "QUIT":
					say("221 bye")
				default:
					text.WriteString(line + "\n")
					say("250 fine")
				}
			}
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); served.Wait() })
	return l.Addr().String(), out
}

func TestAMailIsAcceptedAndIsItsOwnReceipt(t *testing.T) {
	address, messages := mailServer(t)
	c := config()
	c.SMTP = "smtp://" + address
	w := open(t, "mailto:notary@example.org", c)
	got, err := w.Show(t.Context(), seal)
	if err != nil {
		t.Fatal(err)
	}
	text := <-messages
	for _, want := range []string{"RCPT TO:<notary@example.org>", "Subject: seal 7 ", string(anchor.Statement(seal,
		"abc123"))} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if !strings.HasSuffix(text, strings.ReplaceAll(string(got), "\r\n", "\n")) {
		t.Errorf("the receipt is\n%s", got)
	}
	if _, err := open(t, "mailto:notary@example.org", func() Config {
		c.SMTP, c.Password = "smtp://user@"+address, "hidden"
		return c
	}()).Show(t.Context(), seal); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a password was sent without TLS: %v", err)
	}
}

// stand is a witness that a test tells what to do.
type stand struct {
	mu     sync.Mutex
	newest anchor.Seal
	fail   error
	shown  []string
}

func (s *stand) set(n int64, fail error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest.N, s.fail = n, fail
}

func (s *stand) latest(context.Context) (anchor.Seal, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest, s.newest.N > 0, nil
}

func (*stand) Kind() anchor.Kind { return anchor.Webhook }
func (*stand) URL() string       { return "https://witness.example" }
func (s *stand) Show(_ context.Context, x anchor.Seal) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = append(s.shown, fmt.Sprintf("%s %d", time.Now().UTC().Format("15:04:05"), x.N))
	return []byte("r"), s.fail
}

func TestTheNewestSealIsShownHourlyAndAtARunsEndAndAFailureIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, log := &stand{newest: anchor.Seal{N: 1}}, &bytes.Buffer{}
		var kept []int64
		a := New(Port{
			Latest: w.latest,
			Keep: func(_ context.Context, r anchor.Receipt) error {
				kept = append(kept, r.N)
				return nil
			},
		}, []Witness{w}, time.Now, zerolog.New(log))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { a.Run(ctx) })
		after := func(d time.Duration) {
			time.Sleep(d) // of the bubble
			synctest.Wait()
		}
		after(2 * time.Hour) // nothing new: shown once
		w.set(3, nil)
		after(time.Hour)
		w.set(4, nil)
		a.Sealed()
		after(0)
		w.set(5, errors.New("away"))
		a.Sealed()
		after(time.Second)
		if url, since, why := a.Failing(); url != w.URL() || time.Since(since) != time.Second || why != "away" {
			t.Errorf("%q %v %q", url, since, why)
		}
		a.Sealed() // nobody is hurried while it fails
		after(4 * time.Minute)
		w.set(6, nil)
		after(10 * time.Minute)
		if url, _, _ := a.Failing(); url != "" {
			t.Errorf("%q fails", url)
		}
		want := []string{"00:00:00 1", "03:00:00 3", "03:00:00 4", "03:00:00 5", "03:00:30 5", "03:01:30 5", "03:03:30 5",
			"03:07:30 6"}
		if !slices.Equal(w.shown, want) || !slices.Equal(kept, []int64{1, 3, 4, 6}) {
			t.Errorf("%q, kept %v", w.shown, kept)
		}
		if n := strings.Count(log.String(), `"level":"error"`); n != 1 {
			t.Errorf("%d errors in the log:\n%s", n, log)
		}
		cancel()
		running.Wait()
	})
}
