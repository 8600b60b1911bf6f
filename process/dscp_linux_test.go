package process

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dialler/engine"
)

// markReader is a UDP socket that sees the TOS octet of what it receives.
type markReader struct{ *net.UDPConn }

func newMarkReader(t *testing.T, network, address string) markReader {
	t.Helper()
	c, err := net.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	raw, err := c.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		if network == "udp6" {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
		} else {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return markReader{c.(*net.UDPConn)}
}

func (r markReader) port() int { return r.LocalAddr().(*net.UDPAddr).Port }

// dscp is that of the next packet.
func (r markReader) dscp(t *testing.T) int {
	t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(30 * time.Second))
	data, control := make([]byte, 2000), make([]byte, 128)
	_, n, _, _, err := r.ReadMsgUDP(data, control)
	if err != nil {
		t.Fatal(err)
	}
	list, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(list) == 0 {
		t.Fatalf("no TOS came: %v", err)
	}
	return int(list[0].Data[0] >> 2)
}

func TestPacketsOfSIPAndRTPCarryTheirDSCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.flags.SIPDSCP, w.flags.RTPDSCP = 24, 46
	w.restart()
	sip, rtp := newMarkReader(t, "udp4", "127.0.0.1:0"), newMarkReader(t, "udp4", "127.0.0.1:0")
	w.trunk("marks", "127.0.0.1", sip.port(), map[string]any{"priority": 9})
	if got := sip.dscp(t); got != 24 {
		t.Errorf("OPTIONS have DSCP %d", got)
	}
	w.operator("PUT", "/api/v1/trunks/marks", map[string]any{"host": "127.0.0.1", "port": sip.port(), "active": false})
	file := filepath.Join(t.TempDir(), "scenario.xml")
	steps := strings.ReplaceAll(scenario(`< INVITE
		> 200 sdp
		< ACK
		< BYE Reason=Q.850;cause=16
		> 200`), "[media_port]", strconv.Itoa(rtp.port()))
	if err := os.WriteFile(file, []byte(steps), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startSippFile(t, file)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.dialout(newNumber())
	if got := rtp.dscp(t); got != 46 {
		t.Errorf("RTP has DSCP %d", got)
	}
	w.ended(id, engine.OutcomeCompleted)
}

func TestADSCPIsSetForEveryKindOfSocket(t *testing.T) {
	control, err := marked("--sip-dscp", 24)
	if err != nil {
		t.Fatal(err)
	}
	for network, address := range map[string]string{"udp4": "127.0.0.1:0", "udp6": "[::1]:0"} {
		far := newMarkReader(t, network, address)
		lc := net.ListenConfig{Control: control}
		c, err := lc.ListenPacket(context.Background(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.WriteTo([]byte("x"), far.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if got := far.dscp(t); got != 24 {
			t.Errorf("%s: DSCP %d", network, got)
		}
		_ = c.Close()
	}
	// One socket for both: IPv4 from it is marked too.
	far := newMarkReader(t, "udp4", "127.0.0.1:0")
	both := net.ListenConfig{Control: control}
	c, err := both.ListenPacket(context.Background(), "udp", "[::]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.WriteTo([]byte("x"), far.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if got := far.dscp(t); got != 24 {
		t.Errorf("IPv4 from a socket of IPv6: DSCP %d", got)
	}
	connections(t, control)
}

// connections checks connections that are accepted and made.
func connections(t *testing.T, control func(string, string, syscall.RawConn) error) {
	t.Helper()
	for network, address := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		lc := net.ListenConfig{Control: control}
		l, err := lc.Listen(context.Background(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		d := net.Dialer{Control: control}
		made, err := d.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		level, option := unix.IPPROTO_IP, unix.IP_TOS
		if network == "tcp6" {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		for what, c := range map[string]net.Conn{"made": made, "accepted": accepted} {
			raw, err := c.(*net.TCPConn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			_ = raw.Control(func(fd uintptr) {
				if got, err := unix.GetsockoptInt(int(fd), level, option); err != nil || got>>2 != 24 {
					t.Errorf("%s, %s: DSCP %d, %v", network, what, got>>2, err)
				}
			})
			_ = c.Close()
		}
		_ = l.Close()
	}
}

func TestADSCPIsASixBitNumber(t *testing.T) {
	for _, bad := range []int{-1, 64} {
		if _, err := marked("--rtp-dscp", bad); err == nil || !strings.Contains(err.Error(), "--rtp-dscp") {
			t.Errorf("%d: %v", bad, err)
		}
	}
	if control, err := marked("--rtp-dscp", 0); control != nil || err != nil {
		t.Error("0 marks packets")
	}
}
