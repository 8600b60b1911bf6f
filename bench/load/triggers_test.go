package load

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// Both subtests share one program.
func TestAStormOfTriggers(t *testing.T) {
	t.Parallel()
	binary := program(t)
	t.Run("is measured beside a bare handler", func(t *testing.T) { measuredStorm(t, binary) })
	t.Run("repeated across a kill makes one contact each", func(t *testing.T) { repeatedStorm(t, binary) })
}

func measuredStorm(t *testing.T, binary string) {
	f, err := Triggers(t.Context(), TriggersConfig{Binary: binary, Connections: []int{8}, Duration: time.Second,
		Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []TriggersRow{f.Floor, f.Full[0], f.Half} {
		if r.Sent == 0 || r.Accepted != r.Sent || r.Server <= 0 || r.Rate <= 0 || r.Latency.P99 < r.Latency.P50 ||
			r.Latency.P50 <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if f.Stored != f.Accepted || f.Stored < f.Full[0].Accepted+f.Half.Accepted {
		t.Errorf("%d accepted, %d stored", f.Accepted, f.Stored)
	}
	if r := f.Full[0]; r.Postgres <= 0 || r.Commit.P50 <= 0 || r.GroupSize < 1 || r.Dialled >= r.Accepted {
		t.Errorf("%+v", r)
	}
}

func TestAStormNamesWhatIsWrong(t *testing.T) {
	good := func() *TriggersFigures {
		row := TriggersRow{Connections: 1, Rate: 100, Sent: 100, Accepted: 100, Latency: Spread{P50: 2, P99: 12},
			Commit: Spread{P50: 1, P99: 4}, Server: 10}
		half := row
		half.Offered = 100
		return &TriggersFigures{Floor: row, Full: []TriggersRow{row}, Half: half, Accepted: 200, Stored: 200}
	}
	f := func(want string, change func(*TriggersFigures)) {
		t.Helper()
		s := good()
		change(s)
		wrong := strings.Join(s.Wrong(), "; ")
		if want == "" && wrong != "" || !strings.Contains(wrong, want) {
			t.Errorf("%q, want %q", wrong, want)
		}
	}
	f("", func(*TriggersFigures) {})
	f("1 of 100 requests", func(s *TriggersFigures) {
		s.Full[0].Accepted, s.Full[0].Refused = 99, map[string]int{"503": 1}
	})
	f("199 contacts are stored", func(s *TriggersFigures) { s.Stored = 199 })
	f("90 of 100 triggers/s", func(s *TriggersFigures) { s.Half.Rate = 90 })
	f("takes 15.0 ms", func(s *TriggersFigures) { s.Half.Latency.P99 = 15 })
	var page bytes.Buffer
	good().Print(&page)
	for _, want := range []string{"bare handler", "all it takes", "half of that",
		"200 contacts stored; a trigger costs 1.0 times"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, page.String())
		}
	}
}

func TestTheBareHandlerChecksTheKey(t *testing.T) {
	handle := floorHandler("vx_right")
	f := func(key, body string, want int) {
		t.Helper()
		var rc fasthttp.RequestCtx
		rc.Request.Header.SetMethod("POST")
		rc.Request.Header.Set("X-API-Key", key)
		rc.Request.SetBodyString(body)
		if handle(&rc); rc.Response.StatusCode() != want {
			t.Errorf("%q %q: %d, want %d", key, body, rc.Response.StatusCode(), want)
		}
	}
	f("vx_right", `{"campaign_id":"c","mobile":"+491511"}`, 200)
	f("vx_wrong", `{"campaign_id":"c","mobile":"+491511"}`, 401)
	f("", `{}`, 401)
	f("vx_right", `{`, 422)
}

// A key is carried out once, however often it is sent and whenever the engine is
// killed.
func repeatedStorm(t *testing.T, binary string) {
	f, err := Repeats(t.Context(), RepeatsConfig{Binary: binary, Keys: 400, Repeats: 4000, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Failures) > 0 {
		t.Error(strings.Join(f.Failures, "\n"))
	}
	if f.Lives != 2 || f.Fresh+f.Replayed != f.Requests || f.Requests != 4400 || f.NotNow["no answer"] == 0 ||
		f.Contacts != 400 {
		t.Errorf("%+v", f)
	}
	var page bytes.Buffer
	if f.Print(&page); !strings.Contains(page.String(), "400 contacts are stored, 400 triggers were carried out") {
		t.Error(page.String())
	}
}

func TestAStormIsBounded(t *testing.T) {
	for _, c := range []TriggersConfig{{Connections: []int{0}}, {Connections: []int{1001}}, {Duration: time.Millisecond},
		{Duration: time.Hour}} {
		if _, err := Triggers(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), "load: --") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []RepeatsConfig{{Keys: -1}, {Keys: 2_000_000}, {Repeats: 20_000_000}, {Connections: 300},
		{Kills: 30}} {
		if _, err := Repeats(t.Context(), c); err == nil || strings.Contains(err.Error(), "program") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
