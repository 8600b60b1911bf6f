package gateway_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/gateway"
	"dialler/actors/cluster/link"
	"dialler/actors/host"
	world "dialler/actors/ports"
	"dialler/engine"
)

// These benchmarks measure what one call costs in the gateways alone: the 17 commands and events of
// a typical call, through ports that answer at once. µs-cpu/call is the user and system time of the
// process, both nodes together.
//
//	go test ./actors/cluster/gateway -run '^$' -bench Call

type promptCall struct {
	leg   func(engine.LegEvent)
	media func(engine.MediaEvent)
}

// script is a benchmark's carrier; it distinguishes calls only by their last digits.
type script struct {
	world.Telephony
	world.Media
	calls [1 << 12]promptCall
	sdp   []byte
}

func (s *script) of(a engine.AttemptID) *promptCall {
	n := 0
	for _, c := range []byte(a[28:]) {
		d := int(c - '0')
		if c >= 'a' {
			d = int(c-'a') + 10
		}
		n = n<<4 | d
	}
	return &s.calls[n&(len(s.calls)-1)]
}

func (s *script) ofLeg(l engine.LegID) *promptCall {
	a, _, _ := l.Attempt()
	return s.of(a)
}

func (s *script) Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) ([]byte, error) {
	s.of(cmd.Attempt).media = sink
	return s.sdp, nil
}

func (s *script) PlaceLeg(cmd engine.PlaceLeg, sink func(engine.LegEvent)) {
	s.of(cmd.Attempt).leg = sink
	e := engine.LegEvent{Attempt: cmd.Attempt, Leg: cmd.Leg, Trunk: cmd.Trunk, At: time.Now()}
	for i, k := range []engine.LegEventKind{engine.LegSent, engine.LegProvisional, engine.LegProvisional,
		engine.LegAnswered} {
		e.Seq, e.Kind, e.Code = i+1, k, []int{0, 100, 180, 200}[i]
		if k == engine.LegAnswered {
			e.SDP = s.sdp
			e.Dialog = &engine.DialogState{ToTag: "8e1b4f", RemoteTarget: "sip:callee@10.0.0.1:5060", CSeq: 1,
				RemoteAddr: "10.0.0.1:5060", Transport: "udp", LocalAddr: "10.0.0.2:5060"}
		}
		sink(e)
	}
}

func (s *script) ConfirmLeg(engine.LegID)                    {}
func (s *script) Answer(engine.AttemptID, []byte, time.Time) {}
func (s *script) DetachBot(engine.AttemptID)                 {}
func (s *script) ForgetLegs(engine.AttemptID)                {}
func (s *script) CloseMedia(engine.AttemptID) engine.MediaQuality {
	return engine.MediaQuality{Codec: "PCMU"}
}
func (s *script) Ask(context.Context, string) error                          { return nil }
func (s *script) AttachMedia(engine.AttemptID, func(engine.MediaEvent)) bool { return true }

func (s *script) AttachBot(cmd engine.AttachBot) {
	sink := s.of(cmd.Attempt).media
	for i, k := range []engine.MediaEventKind{engine.MediaVerdict, engine.MediaBotConnected, engine.MediaBotFirstAudio} {
		sink(engine.MediaEvent{Attempt: cmd.Attempt, Seq: i + 1, At: time.Now(), Kind: k, Session: cmd.Session,
			Verdict: engine.VerdictHuman})
	}
}

func (s *script) HangUpLeg(leg engine.LegID, _ engine.HangUpCause) {
	a, _, _ := leg.Attempt()
	s.ofLeg(leg).leg(engine.LegEvent{Attempt: a, Leg: leg, Seq: 5, At: time.Now(), Kind: engine.LegClosed})
}

// carry runs b.N calls, 256 at a time.
func carry(b *testing.B, phone world.Telephony, media world.Media, node engine.Incarnation, clock host.Clock) {
	b.Helper()
	sdp := make([]byte, 260)
	lines := make(chan struct{}, 256)
	parameters := map[string]string{"call_id": "CA0123", "campaign_id": "cmp_7k3q9x2m4p", "from_number": "+4930111111",
		"to_number": "+4915112345678", "result_token": "0123456789abcdef"}
	one := func(i int) {
		id := call(i)
		leg := id.Leg(1)
		_, _ = media.Open(engine.OpenMedia{Attempt: id, AMD: engine.AMDParallel, Node: node}, func(e engine.MediaEvent) {
			if e.Kind == engine.MediaBotFirstAudio {
				phone.HangUpLeg(leg, engine.HangUpCause{Q850: 16, Text: "Normal call clearing"})
			}
		})
		phone.PlaceLeg(engine.PlaceLeg{Attempt: id, Leg: leg, Trunk: "trunk", From: "+4930111111", To: "+4915112345678",
			SendBy: clock.Boot().Add(10 * time.Second), RingTimeout: 30 * time.Second},
			func(e engine.LegEvent) {
				switch e.Kind {
				case engine.LegAnswered:
					phone.ConfirmLeg(leg)
					media.Answer(id, sdp, e.At)
					media.AttachBot(engine.AttachBot{Attempt: id, Session: "MZ0123456789abcdef0123456789abcdef", Call: id.Call(),
						Endpoints: []string{"ws://bots.internal:8080/media"}, AuthToken: "token", Account: "AC0123",
						Parameters: parameters, Deadline: e.At.Add(1800 * time.Millisecond)})
				case engine.LegClosed:
					media.DetachBot(id)
					media.CloseMedia(id)
					phone.ForgetLegs(id)
					<-lines
				default:
				}
			})
	}
	var from, to syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &from)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		lines <- struct{}{}
		one(i)
	}
	for range cap(lines) {
		lines <- struct{}{}
	}
	b.StopTimer()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &to)
	used := time.Duration(to.Utime.Nano() - from.Utime.Nano() + to.Stime.Nano() - from.Stime.Nano())
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "µs-cpu/call")
}

func newScript() *script { return &script{sdp: make([]byte, 260)} }

func BenchmarkCallWithoutAGateway(b *testing.B) {
	s := newScript()
	carry(b, s, s, 0, clock{start: time.Now(), boot: 1e9})
}

func BenchmarkCallOfThisNode(b *testing.B) {
	s, c := newScript(), clock{start: time.Now(), boot: 1e9}
	g := gateway.New(
		gateway.Config{
			Telephony: s,
			Media:     s,
			Clock:     c,
			Links:     links(c, 0, port{newNetwork(1), 1}.Send),
			Log:       zerolog.Nop(),
		},
	)
	defer g.Close()
	g.Join(1)
	carry(b, g, g, 1, c)
}

func BenchmarkCallOfAnotherNode(b *testing.B) {
	s, c := newScript(), clock{start: time.Now(), boot: 1e9}
	var near, far *link.Links
	near = links(c, 0, func(_ engine.Incarnation, frame []byte) { far.Receive(frame) })
	far = links(c, 0, func(_ engine.Incarnation, frame []byte) { near.Receive(frame) })
	defer near.Close()
	defer far.Close()
	one := gateway.New(gateway.Config{Telephony: s, Media: s, Clock: c, Links: near, Log: zerolog.Nop()})
	two := gateway.New(gateway.Config{Telephony: s, Media: s, Clock: c, Links: far, Log: zerolog.Nop()})
	one.Join(1)
	two.Join(2)
	defer one.Close()
	defer two.Close()
	carry(b, one, one, 2, c)
}
