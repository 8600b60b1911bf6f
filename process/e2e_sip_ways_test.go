package process

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/persistence/storetest"
	"dialler/sipstack"
)

// What carriers and PBXs do beside the book is borne over UDP and TCP, and with a proxy between that records its
// route: Kamailio, which sends what has no usable Contact to where the answer came from.
func TestWhatCarriersDoIsBorneByEveryWay(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"udp", "tcp"} {
		for _, kamailio := range []bool{false, true} {
			name := transport
			if kamailio {
				name += " through Kamailio"
			}
			t.Run(name, func(t *testing.T) { t.Parallel(); borne(t, transport, kamailio) })
		}
	}
}

func borne(t *testing.T, transport string, kamailio bool) {
	var slow storetest.Faults
	w := newWorld(t, tuning{toDatabase: slow.Dial, rtpTimeout: 1500 * time.Millisecond}, 0)
	talking := func(d time.Duration) func(*sipCall) {
		return func(c *sipCall) {
			if err := w.bot.Configure(bot.Config{AuthToken: ourToken,
				Conversations: []bot.Conversation{conversation(d)}}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	const left = "INVITE ACK"
	cases := []sipCase{
		{file: "answer-contact-unreachable", requests: "INVITE ACK BYE", want: servedRow,
			before: talking(200 * time.Millisecond)},
		{file: "sdp-of-183-only", requests: "INVITE ACK BYE", want: servedRow, then: audio},
		{file: "refresh-as-bot-leaves", requests: "INVITE ACK INVITE BYE ACK", want: servedRow,
			before: talking(1400 * time.Millisecond)},
		{file: "refresh-as-callee-leaves", requests: left + " INVITE ACK", want: leftRow, before: talking(0)},
		{file: "update-before-ack", dialout: true, requests: left, want: leftRow,
			before: func(*sipCall) { slow.Slow("commit", func() { time.Sleep(500 * time.Millisecond) }) },
			then:   func(c *sipCall) { slow.Slow("commit", nil); audio(c) }},
		{file: "reinvite-hold-silent", requests: left, want: leftRow, then: audio},
	}
	for _, refusal := range refusals {
		cases = append(cases, sipCase{file: "timer-refresh-refused", label: refusal[:3],
			keys: []string{"refusal=SIP/2.0 " + refusal}, requests: left + " UPDATE INVITE ACK", want: leftRow, then: audio})
	}
	for i := range cases {
		c := &cases[i]
		trunk := map[string]any{"transport": transport}
		if transport == "tcp" {
			c.args = append(c.args, "-t", "t1")
		}
		if kamailio {
			maps.Copy(trunk, map[string]any{"username": alice, "password": alicesPassword})
			c.through = func(c *sipCall) int {
				return startProxy(c.t, "far", fmt.Sprintf("127.0.0.1:%d;transport=%s", c.sipp.port, transport), "").port
			}
		}
		c.trunk = trunk
	}
	w.run(cases)
}

var refusals = []string{"400 Bad Request", "403 Forbidden", "488 Not Acceptable Here", "500 Server Internal Error",
	"603 Decline"}

// A call goes on for ten minutes with a session of 90 s of which each refresh by UPDATE is refused. SIP_LONG=1 waits
// for it.
func TestACallOfTenMinutesOutlivesRefusedRefreshes(t *testing.T) {
	if os.Getenv("SIP_LONG") == "" {
		t.Skip("SIP_LONG is not set")
	}
	for _, refusal := range refusals {
		t.Run(refusal, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tuning{}, 0)
			w.run([]sipCase{{file: "timer-refresh-refused-long", keys: []string{"refusal=SIP/2.0 " + refusal},
				args: []string{"-recv_timeout", "60000", "-timeout", "660"}, trunk: map[string]any{"session_s": 90},
				requests: "INVITE ACK UPDATE" + strings.Repeat(" INVITE ACK", 13), want: leftRow, then: audio,
				meanwhile: func(c *sipCall) {
					within(c.t, 11*time.Minute, "the callee hangs up", func() bool {
						row := c.stored(c.id.Call())
						return row.EndedAt != nil
					})
					if row := c.stored(c.id.Call()); row.EndedAt.Sub(*row.AnsweredAt) < 585*time.Second {
						c.t.Errorf("it lasted from %s to %s", row.AnsweredAt, row.EndedAt)
					}
				}}})
		})
	}
}

// dead is a port at which something listens and never says anything.
func dead(t *testing.T, transport string) (port int) {
	t.Helper()
	var at net.Addr
	var err error
	var silent io.Closer
	if transport == "udp" {
		var c net.PacketConn
		if c, err = net.ListenPacket("udp4", "127.0.0.1:0"); err == nil {
			silent, at = c, c.LocalAddr()
		}
	} else {
		var l net.Listener
		if l, err = net.Listen("tcp4", "127.0.0.1:0"); err == nil {
			silent, at = l, l.Addr()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	_, port, err = splitHostPort(at.String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// A trunk whose far side says nothing is never up, over whatever way it cannot be reached.
func TestATrunkWithADeadPeerIsNeverUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 10 * time.Millisecond}}, 0)
	for _, transport := range []string{"udp", "tcp"} {
		for _, options := range []int{30, 0} {
			w.trunk(fmt.Sprintf("dead-%s-%d", transport, options), "127.0.0.1", dead(t, transport),
				map[string]any{"transport": transport, "options_s": options})
		}
	}
	neverUp := func() {
		t.Helper()
		for _, transport := range []string{"udp", "tcp"} {
			w.unanswered("dead-" + transport + "-30")
			if at := w.shownTrunk("dead-" + transport + "-0").Status; at.Health != "unproven" || at.CheckedAt != nil {
				t.Errorf("not asked: %+v", at)
			}
		}
	}
	neverUp()
	w.restart()
	neverUp()
}
