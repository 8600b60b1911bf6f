package bot

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"dialler/bench/draw"
)

func sign(token, url string) http.Header {
	mac := hmac.New(sha1.New, []byte(token))
	mac.Write([]byte(url))
	return http.Header{"X-Twilio-Signature": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}
}

func TestUpgradeMustBeSigned(t *testing.T) {
	b := start(t, Config{AuthToken: "token"})
	f := func(status int, h http.Header) {
		t.Helper()
		_, resp, err := dial(t, b, h)
		if resp == nil || resp.StatusCode != status {
			t.Fatalf("%v, %v", resp, err)
		}
	}
	f(101, sign("token", b.URL()))
	f(101, sign("token", strings.Replace(b.URL(), "ws:", "wss:", 1)))
	f(403, sign("other", b.URL()))
	f(403, sign("token", b.URL()+"x"))
	f(403, nil)
	// A session is recorded after its upgrade is answered.
	until(t, b, "two sessions", func(b *Bot) bool { return b.Summary().Sessions == 2 })
	if s := b.Summary(); s.BadSignature != 3 {
		t.Fatalf("%+v", s)
	}
}

func TestSignatureOfThePublicURL(t *testing.T) {
	b := start(t, Config{AuthToken: "token", PublicURL: "wss://bots.example/media", Path: "/"})
	if _, _, err := dial(t, b, sign("token", "wss://bots.example/media")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := dial(t, b, sign("token", b.URL())); err == nil {
		t.Fatal("the private URL was accepted")
	}
}

func TestNoMoreSessionsThanSeats(t *testing.T) {
	b := start(t, Config{Seats: 1, Conversations: []Conversation{{Mute: true, Result: &Result{None: true}}}})
	first := connect(t, b).begin()
	_, resp, err := dial(t, b, nil)
	if err == nil || resp == nil || resp.StatusCode != 503 {
		t.Fatalf("%v, %v", resp, err)
	}
	first.stop()
	until(t, b, "the seat is free", func(b *Bot) bool { return b.Summary().Open == 0 })
	connect(t, b)
	until(t, b, "two sessions", func(b *Bot) bool { return b.Summary().Sessions == 2 })
	if s := b.Summary(); s.Full != 1 || s.PeakOpen != 1 || s.Sessions != 2 {
		t.Fatalf("%+v", s)
	}
}

func TestSeatIsFreeAtTheStopFrame(t *testing.T) {
	b := start(t, Config{Seats: 1, Conversations: []Conversation{{Mute: true, Result: &Result{None: true}}}})
	connect(t, b).begin().stop() // but the platform leaves its socket open
	until(t, b, "the seat is free before the socket has ended", func(b *Bot) bool {
		return len(b.Sessions()) == 1 && b.open.Load() == 0 && b.Sessions()[0].EndedAt.IsZero()
	})
}

func TestDoorRefusesDropsAndDelays(t *testing.T) {
	b := start(t, Config{Door: Door{RefuseShare: 1}})
	if _, resp, err := dial(t, b, nil); err == nil || resp == nil || resp.StatusCode != 503 {
		t.Fatalf("%v, %v", resp, err)
	}
	if err := b.Configure(Config{Door: Door{DropShare: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, resp, err := dial(t, b, nil); err == nil || resp != nil {
		t.Fatalf("%v, %v", resp, err)
	}
	if s := b.Summary(); s.Refused != 2 || s.Sessions != 0 {
		t.Fatalf("%+v", s)
	}
	if err := b.Configure(Config{Door: Door{SlowShare: 1, Slow: draw.Exactly(80 * time.Millisecond)}}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	connect(t, b)
	if took := time.Since(begun); took < 80*time.Millisecond {
		t.Fatalf("accepted after %v", took)
	}
}

func TestDoorSharesHold(t *testing.T) {
	refused, n := 0, 4000
	for i := range n {
		r := draw.Rand(3, "door", i)
		_ = r.Float64()
		if r.Float64() < 0.25 {
			refused++
		}
	}
	if refused < 900 || refused > 1100 {
		t.Fatalf("%d of %d", refused, n)
	}
}
