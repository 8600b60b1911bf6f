package media

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

// TestLoad measures what n two-way calls cost this process; the far sides run
// in a child process. MEDIA_LOAD=n runs it, MEDIA_LOAD_BOTS=0 without bots.
func TestLoad(t *testing.T) {
	if os.Getenv("MEDIA_LOAD_CHILD") != "" {
		farSides()
		return
	}
	n, _ := strconv.Atoi(os.Getenv("MEDIA_LOAD"))
	if n == 0 {
		t.Skip("MEDIA_LOAD is not set")
	}
	bots := os.Getenv("MEDIA_LOAD_BOTS") != "0"
	cfg := Config{Host: "127.0.0.1"}
	cfg.Sockets, _ = strconv.Atoi(os.Getenv("MEDIA_LOAD_SOCKETS"))
	cfg.ReadPause, _ = time.ParseDuration(os.Getenv("MEDIA_LOAD_PAUSE"))
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	exe, _ := os.Executable()
	child := exec.Command(exe, "-test.run=^TestLoad$")
	child.Env = append(os.Environ(), "MEDIA_LOAD_CHILD=1")
	in, _ := child.StdinPipe()
	out, _ := child.StdoutPipe()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	defer func() { _ = in.Close() }()
	lines := bufio.NewScanner(out)
	lines.Scan()
	url := lines.Text()
	before := memory()
	verdicts := make(chan engine.MediaEvent, 10*n)
	for i := range n {
		offer, err := e.Open(engine.OpenMedia{Attempt: attempt(i), AMD: engine.AMDParallel}, func(ev engine.MediaEvent) { verdicts <- ev })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(in, offeredPort(t, offer)); err != nil {
			t.Fatal(err)
		}
		lines.Scan()
		port, _ := strconv.Atoi(lines.Text())
		e.Answer(attempt(i), sdpAnswer(port, "0 101"), time.Now())
		if bots {
			e.AttachBot(attach(attempt(i), url))
		}
	}
	if _, err := fmt.Fprintln(in, "go"); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTimer(6 * time.Second) // classification is over
	<-tick.C
	s0, c0, at := e.Stats(), cpu(), time.Now()
	tick.Reset(10 * time.Second)
	<-tick.C
	s1, took := e.Stats(), time.Since(at)
	used := cpu() - c0
	after := memory()
	t.Logf("%d calls, bots %v: %.4f %% of a core per call; heap+stacks %.1f KiB per call; received %.0f/s, sent %.0f/s, to bots %.0f/s, from bots %.0f/s, lost %d, ticks skipped %d, bots up %d, slow %d",
		n, bots, 100*used.Seconds()/took.Seconds()/float64(n), float64(after-before)/1024/float64(n),
		float64(s1.PacketsReceived-s0.PacketsReceived)/took.Seconds(), float64(s1.PacketsSent-s0.PacketsSent)/took.Seconds(),
		float64(s1.BotFramesSent-s0.BotFramesSent)/took.Seconds(), float64(s1.BotFramesReceived-s0.BotFramesReceived)/took.Seconds(),
		s1.PacketsLost, s1.TicksSkipped, s1.Bots, s1.SlowBots)
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// farSides is the child: phones that talk and bots that answer each frame.
func farSides() {
	up := websocket.Upgrader{ReadBufferSize: 1024, WriteBufferSize: 1024}
	reply := []byte(`{"event":"media","streamSid":"x","media":{"payload":"` + base64.StdEncoding.EncodeToString(make([]byte, 160)) + `"}}`)
	ln, _ := net.Listen("tcp", "127.0.0.1:0")
	go func() {
		_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := up.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			for {
				if _, _, err := c.NextReader(); err != nil {
					return
				}
				_ = c.WriteMessage(websocket.TextMessage, reply)
			}
		}))
	}()
	fmt.Println("ws://" + ln.Addr().String() + "/")
	var mu sync.Mutex
	var calls []func()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), "go") {
			go func() {
				for next := time.Now(); ; next = next.Add(20 * time.Millisecond) {
					<-time.After(time.Until(next))
					mu.Lock()
					for _, f := range calls {
						f()
					}
					mu.Unlock()
				}
			}()
			continue
		}
		port, _ := strconv.Atoi(in.Text())
		conn, _ := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		_ = conn.SetReadBuffer(1) // what it hears is dropped by the kernel
		b := make([]byte, 172)
		b[0] = 0x80
		binary.BigEndian.PutUint32(b[8:], uint32(conn.LocalAddr().(*net.UDPAddr).Port))
		var seq uint16
		mu.Lock()
		calls = append(calls, func() {
			seq++
			binary.BigEndian.PutUint16(b[2:], seq)
			binary.BigEndian.PutUint32(b[4:], uint32(seq)*160)
			_, _ = conn.Write(b)
		})
		mu.Unlock()
		fmt.Println(conn.LocalAddr().(*net.UDPAddr).Port)
	}
	os.Exit(0)
}
