package process

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/persistence/storetest"
	"dialler/sipstack"
)

// behindNAT puts the process's network behind a router: we are 10.77.0.1, the router is 203.0.113.1 outside and
// passes SIP and RTP on to us, and the namespace that is returned has 203.0.113.2. move gives the router
// another address.
func behindNAT(t *testing.T) (outside string, move func(from, to string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces with names need root")
	}
	router, outside := fmt.Sprintf("stun%dr", os.Getpid()), fmt.Sprintf("stun%do", os.Getpid())
	t.Cleanup(func() {
		for _, ns := range []string{router, outside} {
			_ = exec.Command("ip", "netns", "del", ns).Run()
		}
	})
	ip(t, "netns", "add", router)
	ip(t, "netns", "add", outside)
	ip(t, "link", "set", "lo", "up")
	ip(t, "link", "add", "here", "type", "veth", "peer", "name", "in", "netns", router)
	ip(t, "addr", "add", diallersAddress+"/24", "dev", "here")
	ip(t, "link", "set", "here", "up")
	ip(t, "route", "add", "default", "via", "10.77.0.254")
	ip(t, "-n", router, "addr", "add", "10.77.0.254/24", "dev", "in")
	ip(t, "-n", router, "link", "set", "in", "up")
	ip(t, "-n", router, "link", "add", "out", "type", "veth", "peer", "name", "eth", "netns", outside)
	ip(t, "-n", router, "addr", "add", "203.0.113.1/24", "dev", "out")
	ip(t, "-n", router, "link", "set", "out", "up")
	ip(t, "-n", outside, "addr", "add", "203.0.113.2/24", "dev", "eth")
	ip(t, "-n", outside, "link", "set", "eth", "up")
	ip(t, "-n", outside, "link", "set", "lo", "up")
	ip(t, "netns", "exec", router, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	rules := exec.Command("ip", "netns", "exec", router, "nft", "-f", "-")
	rules.Stdin = strings.NewReader("table ip nat {\n chain out {\n type nat hook postrouting priority 100\n" +
		" oifname \"out\" masquerade\n }\n chain in {\n type nat hook prerouting priority -100\n" +
		" iifname \"out\" udp dport { 5060, 16000-16999 } dnat to " + diallersAddress + "\n }\n}\n")
	if out, err := rules.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v %s", err, out)
	}
	return outside, func(from, to string) {
		ip(t, "-n", router, "addr", "del", from+"/24", "dev", "out")
		ip(t, "-n", router, "addr", "add", to+"/24", "dev", "out")
	}
}

// startSTUN starts coturn as a STUN server at 203.0.113.2.
func startSTUN(t *testing.T, namespace string) *peer {
	t.Helper()
	path, err := exec.LookPath("turnserver")
	if err != nil {
		t.Fatal("coturn is not installed; make deps installs it")
	}
	dir := t.TempDir()
	p := startPeer(t, "ip", "/usr/sbin", "netns", "exec", namespace, path, "-n", "--stun-only",
		"--listening-ip=203.0.113.2", "--listening-port=3478", "--no-tls", "--no-dtls", "--no-cli", "--log-file=stdout",
		"--pidfile="+filepath.Join(dir, "pid"), "--userdb="+filepath.Join(dir, "db"))
	eventually(t, "the STUN server listens", func() bool {
		open, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/udp", p.cmd.Process.Pid))
		return err == nil && strings.Contains(string(open), fmt.Sprintf(":%04X ", 3478))
	})
	return p
}

// What carriers see is asked of a STUN server, written where a static address would stand, asked again, and kept
// while the server does not answer.
func TestASTUNServerSaysOurExternalAddress(t *testing.T) {
	t.Parallel()
	if hasItsOwnNetwork(t) {
		return
	}
	outside, move := behindNAT(t)
	server := startSTUN(t, outside)
	database := os.Getenv(inNamespace)
	w := bringUp(t, &world{url: database, flags: Flags{DatabaseURL: database, SIP: diallersAddress + ":5060",
		SIPExternal: "stun:203.0.113.2", RTPPorts: "16000-16999"}},
		tuning{stunEvery: 200 * time.Millisecond, stunPatience: time.Second}, time.Hour)
	talk := func(want string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "scenario.xml")
		steps := "< INVITE\n> 180\n> 200 sdp\n< ACK\npause 300\n> BYE\n< 200\n"
		if err := os.WriteFile(file, []byte(scenario(steps)), 0o600); err != nil {
			t.Fatal(err)
		}
		far := startSippAt(t, outside, "203.0.113.2", file)
		w.trunk("outside", "203.0.113.2", far.port, nil)
		id := w.dialout(newNumber())
		eventually(t, "the call is over", func() bool { r := w.stored(id); return r.EndedAt != nil && !r.OpenLeg() })
		w.trunk("outside", "203.0.113.2", far.port, map[string]any{"active": false})
		far.satisfied()
		row, a := w.stored(id), "INVITE"
		if row.SIPCode != 200 || row.HungUpBy != "callee" {
			t.Errorf("SIP %d, hung up by %s", row.SIPCode, row.HungUpBy)
		}
		for _, m := range far.messages(string(row.ID.Leg(1))) {
			if m.sent || !strings.HasPrefix(m.text, a) {
				continue
			}
			a = "no other"
			for _, line := range []string{"Via: SIP/2.0/UDP " + want + ":5060;", "@" + want + ":5060", " IN IP4 " + want +
				"\r\ns=", "c=IN IP4 " + want + "\r\n"} {
				if !strings.Contains(m.text, line) {
					t.Errorf("no %q in\n%s", line, m.text)
				}
			}
		}
		if a == "INVITE" {
			t.Error("SIPp saw no INVITE")
		}
	}
	talk("203.0.113.1")

	move("203.0.113.1", "203.0.113.3")
	eventually(t, "the new address is told", func() bool {
		return strings.Contains(w.log.String(), `"was":"203.0.113.1","address":"203.0.113.3"`)
	})
	talk("203.0.113.3")

	_ = syscall.Kill(-server.cmd.Process.Pid, syscall.SIGTERM)
	<-server.done
	within(t, 3*patience, "the check warns", func() bool {
		warning, detail := w.warningOf("external_address")
		return warning == "stun_away" && strings.Contains(detail, "203.0.113.3 stays in use")
	})
	talk("203.0.113.3")
}

// A crash while the STUN server is away as well: the next process starts with the address that was said last, and ends
// what is left with BYE.
func TestACallLeftByAKillIsEndedThoughTheSTUNServerIsAway(t *testing.T) {
	t.Parallel()
	if hasItsOwnNetwork(t) {
		return
	}
	outside, _ := behindNAT(t)
	server := startSTUN(t, outside)
	database := os.Getenv(inNamespace)
	w := bringUp(t, &world{url: database, flags: Flags{DatabaseURL: database, SIP: diallersAddress + ":5060",
		SIPExternal: "stun:203.0.113.2", RTPPorts: "16000-16999", DataDir: dataDir(t)}},
		tuning{stunPatience: time.Second}, time.Hour)
	file := filepath.Join(t.TempDir(), "scenario.xml")
	steps := "< INVITE\n> 180\n> 200 sdp\n< ACK\n< BYE\n> 200\n"
	if err := os.WriteFile(file, []byte(scenario(steps)), 0o600); err != nil {
		t.Fatal(err)
	}
	far := startSippAt(t, outside, "203.0.113.2", file)
	w.trunk("outside", "203.0.113.2", far.port, nil)
	w.p.Close()
	w.tampered = true // no audit while another process runs
	first := w.another("--sip-external=stun:203.0.113.2", "--rtp-ports=16000-16999")
	id := w.dialout(newNumber())
	eventually(t, "they talk", func() bool { return w.rows("attempts WHERE served_at IS NOT NULL") == 1 })
	_ = syscall.Kill(-server.cmd.Process.Pid, syscall.SIGTERM)
	<-server.done
	w.killed(first)
	eventually(t, "the call is over", func() bool { r := w.stored(id); return r.EndedAt != nil && !r.OpenLeg() })
	far.satisfied()
	if warning, detail := w.warningOf("external_address"); warning != "stun_away" ||
		!strings.Contains(detail, "203.0.113.1 stays in use") {
		t.Errorf("%s: %s", warning, detail)
	}
}

// warningOf returns the warning of an entry of /readyz.
func (w *world) warningOf(name string) (warning, detail string) {
	w.t.Helper()
	var ready struct {
		Checks []struct{ Name, Warning, Detail string }
	}
	w.operator("GET", "/api/v1/health", nil).expect(200).into(&ready)
	for _, c := range ready.Checks {
		if c.Name == name {
			return c.Warning, c.Detail
		}
	}
	return "", ""
}

// A STUN server within our own network says an address of that network, which may be meant.
func TestAPrivateExternalAddressIsUsedAndWarnedOf(t *testing.T) {
	t.Parallel()
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	go func() {
		for q := make([]byte, 1500); ; {
			n, from, err := server.ReadFrom(q)
			if err != nil || n < 20 {
				return
			}
			// RFC 8489 §14.2: port 5060 and 10.0.0.5, each XORed with the magic cookie 0x2112A442.
			answer := append([]byte{1, 1, 0, 12}, q[4:20]...)
			answer = append(answer, 0, 0x20, 0, 8, 0, 1, 0x32, 0xd6, 10^0x21, 0x12, 0xa4, 5^0x42)
			_, _ = server.WriteTo(answer, from)
		}
	}()
	url := storetest.URL(t)
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, SIPExternal: "stun:" + server.LocalAddr().String()}},
		tuning{}, 0)
	if warning, detail := w.warningOf("external_address"); warning != "external_private" ||
		!strings.Contains(detail, "10.0.0.5") {
		t.Errorf("%s: %s", warning, detail)
	}
	if !strings.Contains(w.log.String(), "sees a private address") {
		t.Error("the log does not say it")
	}
}

func TestADiallerThatDoesNotKnowItsExternalAddressDoesNotStart(t *testing.T) {
	t.Parallel()
	silent, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	setting := "stun:" + silent.LocalAddr().String()
	p, err := startTuned(t.Context(), Flags{DatabaseURL: storetest.URL(t), DataDir: t.TempDir(), SigningKey: sharedKey(t),
		ListenHTTP: "127.0.0.1:0", SIP: "127.0.0.1:0", RTPHost: "127.0.0.1", RTPExternal: setting}, "main", zerolog.Nop(),
		tuning{stunPatience: 300 * time.Millisecond})
	if err == nil {
		p.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "our external address is not known ("+setting+")") ||
		!strings.Contains(err.Error(), "or give the address itself") {
		t.Error(err)
	}
}

func TestWhatIsWrongWithAnExternalAddressIsSaid(t *testing.T) {
	f := func(want string, change func(*Flags)) {
		t.Helper()
		flags := Flags{SIP: "192.0.2.1:5060", SIPLadders: "failed"}
		change(&flags)
		listeners, err := flags.sipListeners()
		if err == nil {
			err = flags.checkExternal(listeners)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("", func(f *Flags) { f.SIPExternal, f.RTPExternal = "stun:stun.example.com", "203.0.113.7" })
	f("", func(f *Flags) { f.RTPExternal = "stun:192.0.2.9:3479" })
	for _, wrong := range []string{"stun:", "stun:a b", "stun:[2001:db8::1]", "stun:-", "stun:a/b", "stun:a:0"} {
		f("--sip-external must be stun:HOST or stun:HOST:PORT", func(f *Flags) { f.SIPExternal = wrong })
	}
	f("--sip-external must be stun:HOST or stun:HOST:PORT", func(f *Flags) { f.SIPExternal = "stun:a.example:x" })
	f("--rtp-external must be an IPv4 address", func(f *Flags) { f.RTPExternal = "nat.example.com" })
	f("--rtp-external must be an IPv4 address", func(f *Flags) { f.RTPExternal = "2001:db8::1" })
	f("--rtp-external must be stun:", func(f *Flags) { f.RTPExternal = "stun:a:99999" })
	f("RTP has none", func(f *Flags) { f.SIP, f.RTPExternal = "[2001:db8::1]:5060", "203.0.113.7" })
	f("--sip-external: a STUN server is asked over IPv4", func(f *Flags) {
		f.SIP, f.SIPExternal = "[2001:db8::1]:5060", "stun:a.example"
	})
	f("sip-listeners[1] (b): external must be stun:", func(f *Flags) {
		f.ConfigPath = trunksFile(t, "sip-listeners:\n  - {name: a, address: 192.0.2.1:5060}\n"+
			"  - {name: b, address: 192.0.2.2:5060, external: \"stun::1\"}\n")
	})
}

func TestTheExternalAddressOfRTPIsThatOfItsListener(t *testing.T) {
	f := func(want string, flags Flags, listeners ...sipstack.Listener) {
		t.Helper()
		if got := flags.rtpExternal(listeners, rtpHosts(flags.RTPHost, listeners)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	in := sipstack.Listener{Address: "10.0.0.5:5060"}
	out := sipstack.Listener{Address: "198.51.100.20:5060", ExternalHost: "203.0.113.7"}
	six := sipstack.Listener{Address: "[2001:db8::5]:5060", ExternalHost: "2001:db8::7"}
	named, asked := out, out
	named.ExternalHost, asked.ExternalHost = "nat.example.com", "stun:stun.example.com"
	f("203.0.113.7", Flags{}, out)
	f("203.0.113.7", Flags{}, six, out)
	f("stun:stun.example.com", Flags{}, asked, in)
	f("", Flags{}, in, out) // RTP uses the host of the first
	f("", Flags{}, named)
	f("", Flags{}, six)
	f("", Flags{RTPHost: "198.51.100.21"}, out)
	f("203.0.113.9", Flags{RTPHost: "198.51.100.21", RTPExternal: "203.0.113.9"}, out)
	f("203.0.113.9", Flags{RTPExternal: "203.0.113.9"}, out)
}
