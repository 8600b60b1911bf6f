package bot

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"dialler/bench/draw"
	"dialler/bench/pace"
)

const (
	loadURL      = "BOT_LOAD_URL" // set for the process that plays the platform
	loadSessions = 1000
	loadTime     = 10 * time.Second
)

// member sends a callee's frame every 20 ms.
type member struct {
	mu   sync.Mutex
	p    *platform
	over bool
}

func (m *member) Tick(time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.over {
		m.p.media(0xff)
	}
}

// TestPlatformProcess is not a test: BenchmarkThousandSessions runs it in a separate process, to
// separate the bot's CPU time from its own.
func TestPlatformProcess(t *testing.T) {
	url := os.Getenv(loadURL)
	if url == "" {
		return
	}
	pacers := pace.Start(2)
	var all []*member
	var readers sync.WaitGroup
	for i := range loadSessions {
		p, _, err := dialURL(t, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.parameters["to_number"] = "+49151" + strconv.Itoa(10000000+i)
		_ = p.conn.SetReadDeadline(time.Time{})
		p.begin()
		m := &member{p: p}
		all = append(all, m)
		pacers.Add(m)
		readers.Go(func() {
			for {
				f, err := p.read()
				if err != nil {
					return
				}
				if f.Event == "mark" {
					m.mu.Lock()
					p.mark(f.Mark.Name)
					m.mu.Unlock()
				}
			}
		})
	}
	timer := time.NewTimer(loadTime)
	<-timer.C
	for _, m := range all {
		m.mu.Lock()
		m.over = true
		m.p.stop()
		m.mu.Unlock()
	}
	readers.Wait()
	pacers.Close()
}

// BenchmarkThousandSessions holds 1000 two-way conversations for ten seconds
// and reports the CPU of the bot's process alone.
//
//	go test -run - -bench Thousand -benchtime 1x ./bench/bot
func BenchmarkThousandSessions(b *testing.B) {
	for range b.N {
		bot := start(b, Config{Conversations: []Conversation{{
			Pause: draw.Between(time.Second, 4*time.Second), Clear: 0.1, Result: &Result{None: true},
		}}})
		cmd := exec.Command(os.Args[0], "-test.run", "^TestPlatformProcess$", "-test.count", "1")
		cmd.Env = append(os.Environ(), loadURL+"="+bot.URL())
		before := cpuTime(b)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		used := cpuTime(b) - before
		until(b, bot, "all sessions are over",
			func(bot *Bot) bool { return bot.Summary().EndedBy[EndedByCallee] == loadSessions })
		s := bot.Summary()
		if len(s.Violations) != 0 {
			b.Fatalf("violations: %v", s.Violations)
		}
		b.ReportMetric(used.Seconds()/loadTime.Seconds()*100, "%core")
		b.ReportMetric(float64(used.Nanoseconds())/float64(s.FramesIn+s.FramesOut), "cpu-ns/frame")
		b.ReportMetric(float64(s.FramesIn)/loadTime.Seconds(), "frames-in/s")
		b.ReportMetric(float64(s.FramesOut)/loadTime.Seconds(), "frames-out/s")
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMediaFrame measures the check of one frame from the callee.
func BenchmarkMediaFrame(b *testing.B) {
	payload := make([]byte, 216)
	for i := range payload {
		payload[i] = 'A'
	}
	raw := []byte(`{"event":"media","sequenceNumber":"1","media":{"track":"inbound","chunk":"1",` +
		`"timestamp":"20","payload":"` +
		string(payload) + `"},"streamSid":"` + stream + `"}`)
	s := &session{bot: &Bot{}}
	s.row.SessionID = stream
	b.ReportAllocs()
	for b.Loop() {
		s.message(raw, time.Time{})
	}
}
