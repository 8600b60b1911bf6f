package media

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	pionsrtp "github.com/pion/srtp/v3"

	"dialler/engine"
	"dialler/media/sdp"
)

// TestLoad measures the cost of n two-way calls in this process; the far sides run in a child
// process. MEDIA_LOAD=n runs it; MEDIA_LOAD_KIND selects the kind of call: pcmu (with a bot's
// socket), g722, srtp, relay (joined with a bot by SIP), alone (nobody to talk to); symmetric compares calls as of a
// trunk with media.symmetric off with those of auto, the SDP being right. There MEDIA_LOAD_GROUP calls ring at a time.
func TestLoad(t *testing.T) {
	if os.Getenv("MEDIA_LOAD_CHILD") != "" {
		farSides()
		return
	}
	n, _ := strconv.Atoi(os.Getenv("MEDIA_LOAD"))
	if n == 0 {
		t.Skip("MEDIA_LOAD is not set")
	}
	kind := cmp.Or(os.Getenv("MEDIA_LOAD_KIND"), "pcmu")
	if kind != "symmetric" {
		t.Log(load(t, n, kind, "", n))
		return
	}
	group, _ := strconv.Atoi(os.Getenv("MEDIA_LOAD_GROUP"))
	var took [2][]float64
	for range 5 { // in turns: what else the machine does meets both
		for i, symmetric := range []string{engine.SymmetricOff, engine.SymmetricAuto} {
			f := load(t, n, kind, symmetric, cmp.Or(group, n))
			t.Logf("%s: %s", symmetric, f)
			took[i] = append(took[i], f.core)
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	t.Logf("medians: %.4f %% of a core per call without, %.4f %% with, %+.1f %%", took[0][2], took[1][2],
		100*(took[1][2]/took[0][2]-1))
}

// loadFigures are what n calls cost.
type loadFigures struct {
	core float64 // per cent of a core per call
	text string
}

func (f loadFigures) String() string { return f.text }

// load measures n calls of a kind, of which that many begin at a time: the next ones when those are heard.
func load(t *testing.T, n int, kind, symmetric string, group int) loadFigures {
	bots := kind != "relay" && kind != "alone"
	formats, pt, crypto := "0 101", "0", []string(nil)
	profile, host := engine.MediaProfile{Symmetric: symmetric}, "127.0.0.1"
	if kind == "symmetric" {
		host = neighbour(t)
	}
	switch kind {
	case "g722":
		formats, pt, profile.Codecs = "9 101", "9", []string{"G722"}
	case "srtp":
		pt, profile.SRTP = "s", engine.SRTPRequired
		crypto = []string{strings.TrimSpace(string(sdp.AppendCrypto(nil, 1, 0, &loadKey)))}
	}
	cfg := Config{Host: host}
	cfg.Sockets, _ = strconv.Atoi(os.Getenv("MEDIA_LOAD_SOCKETS"))
	cfg.ReadPause, _ = time.ParseDuration(os.Getenv("MEDIA_LOAD_PAUSE"))
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	exe, _ := os.Executable()
	child := exec.Command(exe, "-test.run=^TestLoad$")
	child.Env = append(os.Environ(), "MEDIA_LOAD_CHILD="+host)
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
		_, err := e.Open(engine.OpenMedia{Attempt: attempt(i), AMD: engine.AMDParallel, Profile: profile},
			func(ev engine.MediaEvent) { verdicts <- ev })
		if err != nil {
			t.Fatal(err)
		}
		phone := func(pt string) []byte {
			if _, err := fmt.Fprintln(in, e.call(attempt(i)).sock.port, pt); err != nil {
				t.Fatal(err)
			}
			lines.Scan()
			port, _ := strconv.Atoi(lines.Text())
			return bytes.ReplaceAll(sdpAnswer(port, formats, crypto...), []byte("127.0.0.1"), []byte(host))
		}
		answer := phone(pt)
		if kind == "srtp" {
			answer = bytes.ReplaceAll(answer, []byte("RTP/AVP"), []byte("RTP/SAVP"))
		}
		e.Answer(attempt(i), answer, time.Now())
		if kind == "relay" {
			leg := attempt(i).Leg(2)
			if _, err := e.OpenPeer(attempt(i), leg, profile); err != nil {
				t.Fatal(err)
			}
			if err := e.JoinPeer(attempt(i), leg, phone(pt)); err != nil {
				t.Fatal(err)
			}
		}
		if bots {
			e.AttachBot(attach(attempt(i), url))
		}
		if (i+1)%group == 0 && group < n {
			if _, err := fmt.Fprintln(in, "go"); err != nil {
				t.Fatal(err)
			}
			<-time.After(500 * time.Millisecond)
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
	f := loadFigures{core: 100 * used.Seconds() / took.Seconds() / float64(n)}
	_, ports := e.Ports()
	f.text = fmt.Sprintf("%d calls on %d ports, %s: %.4f %% of a core per call; heap+stacks %.1f KiB per call; received "+
		"%.0f/s, sent %.0f/s, to bots %.0f/s, from bots %.0f/s, lost %d, ticks skipped %d, bots up %d, slow %d",
		n, ports, kind, f.core, float64(after-before)/1024/float64(n),
		float64(s1.PacketsReceived-s0.PacketsReceived)/took.Seconds(), float64(s1.PacketsSent-s0.PacketsSent)/took.Seconds(),
		float64(s1.BotFramesSent-s0.BotFramesSent)/took.Seconds(),
		float64(s1.BotFramesReceived-s0.BotFramesReceived)/took.Seconds(),
		s1.PacketsLost, s1.TicksSkipped, s1.Bots, s1.SlowBots)
	return f
}

// neighbour is an address of this machine that is not loopback: there calls latch.
func neighbour(t *testing.T) string {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address beside loopback")
	return ""
}

// loadKey is the key of all far sides with SRTP.
var loadKey = sdp.Master{9}

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
	reply := []byte(`{"event":"media","streamSid":"x","media":{"payload":"` +
		base64.StdEncoding.EncodeToString(make([]byte, 160)) + `"}}`)
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
	talking := false
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if in.Text() == "go" && talking {
			continue
		}
		if in.Text() == "go" {
			talking = true
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
		text, kind, _ := strings.Cut(in.Text(), " ")
		port, _ := strconv.Atoi(text)
		conn, _ := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.ParseIP(os.Getenv("MEDIA_LOAD_CHILD")), Port: port})
		_ = conn.SetReadBuffer(1) // the kernel drops what it receives
		b := make([]byte, 172)
		b[0] = 0x80
		if kind == "9" {
			b[1] = 9
		}
		copy(b[12:], speech(160, byte(port)))
		var sealed *pionsrtp.Context
		buf := make([]byte, 0, 300)
		if kind == "s" {
			key, salt := sdp.Suites[0].Split(&loadKey)
			sealed, _ = pionsrtp.CreateContext(key, salt, sdp.Suites[0].Profile)
		}
		binary.BigEndian.PutUint32(b[8:], uint32(conn.LocalAddr().(*net.UDPAddr).Port))
		var seq uint16
		mu.Lock()
		calls = append(calls, func() {
			seq++
			binary.BigEndian.PutUint16(b[2:], seq)
			binary.BigEndian.PutUint32(b[4:], uint32(seq)*160)
			out := b
			if sealed != nil {
				out, _ = sealed.EncryptRTP(buf, b, nil)
			}
			_, _ = conn.Write(out)
		})
		mu.Unlock()
		fmt.Println(conn.LocalAddr().(*net.UDPAddr).Port)
	}
	os.Exit(0)
}
