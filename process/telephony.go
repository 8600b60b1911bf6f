package process

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/number"
	"dialler/media"
	"dialler/sipstack"
)

// sessions passes offers and answers of answered legs to their media, which is opened after the
// telephony adapter and before any leg.
type sessions struct{ *media.Engine }

// telephony opens the SIP sockets and the media path, and configures the trunks on the SIP side.
func (p *Process) telephony(ctx context.Context, listeners []sipstack.Listener, rtp []string) (err error) {
	var over func(engine.LegEvent, bool, func() []engine.SIPMessage)
	if p.flags.SIPLadders != "none" {
		p.ladders = newLadderKeeper(p.store.Lists, p.flags.SIPLadders == "all", p.log)
		p.closing = append(p.closing, p.ladders.close)
		over = p.ladders.legOver
	}
	answered := new(sessions)
	var fence engine.Fence = p.lease
	if p.alone != nil {
		fence = p.alone
	}
	control, err := marked("--sip-dscp", p.flags.SIPDSCP)
	if err != nil {
		return err
	}
	for i := range listeners {
		listeners[i].Control = control
	}
	external, err := p.externals(ctx, listeners, rtp)
	if err != nil {
		return err
	}
	p.sip, err = sipstack.New(sipstack.Config{
		OnLegOver: over, Transfers: true, OneCall: true, Fence: fence,
		Media:     answered,
		Listeners: listeners, Timers: p.tuning.timers, Log: p.log,
		WriteNumber: func(n engine.PhoneNumber, f sipstack.NumberFormat, country string) string {
			return number.Written(n, number.Format(f), country)
		},
		NewCall: func() engine.AttemptID { return engine.AttemptID(host.NewID(p.clock.Now())) },
		OnCall:  p.calledIn,
		OnTrunkHealth: func(h engine.TrunkHealth) {
			if t := p.treeUp.Load(); t != nil {
				t.TrunkHealth(h)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("SIP cannot listen (choose another address with --sip, or in sip-listeners of the file): %w", err)
	}
	p.closing = append(p.closing, func() { _ = p.sip.Close() })

	mc := media.Config{Host: rtp[0], Recorder: p.recorder, Log: p.log, Message: p.flags.Message, Fence: fence}
	if len(rtp) > 1 {
		mc.Second = rtp[1]
	}
	if mc.PortMin, mc.PortMax, err = portRange(p.flags.RTPPorts); err != nil {
		return err
	}
	if mc.Control, err = marked("--rtp-dscp", p.flags.RTPDSCP); err != nil {
		return err
	}
	mc.SocketCap = rtpPortCap()
	mc.RTPTimeout = p.tuning.rtpTimeout
	mc.Voicemail = p.store.VoicemailAudio
	mc.Bot.Result = p.resultOnSocket
	if p.media, err = media.New(mc); err != nil {
		return fmt.Errorf("the media path cannot be opened (see --rtp-host, --rtp-ports, --message): %w", err)
	}
	answered.Engine = p.media
	p.closing = append(p.closing, p.media.Close)
	if external.IsValid() {
		p.media.SetHost(external)
	}
	for _, w := range p.externalWatches {
		p.background(w.Run)
	}
	return p.setTrunks(ctx)
}

// rtpHosts returns the addresses of RTP: one or two by --rtp-host, else the first listener's and the
// first of another listener that has the other family.
func rtpHosts(flag string, listeners []sipstack.Listener) (list []string) {
	if flag != "" {
		first, second, two := strings.Cut(flag, ",")
		if list = []string{strings.TrimSpace(first)}; two {
			list = append(list, strings.TrimSpace(second))
		}
		return list
	}
	for _, l := range listeners {
		host, _, _ := net.SplitHostPort(l.Address)
		a, err := netip.ParseAddr(host)
		if len(list) == 0 || err == nil && !a.IsUnspecified() && !slices.Contains(familiesOf(list), familyOf(a)) {
			list = append(list, host)
		}
	}
	return list
}

func familyOf(a netip.Addr) string {
	if a.Unmap().Is4() {
		return engine.IPv4
	}
	return engine.IPv6
}

func familiesOf(hosts []string) (list []string) {
	for _, h := range hosts {
		if a, err := netip.ParseAddr(h); err == nil {
			list = append(list, familyOf(a))
		}
	}
	return list
}

// portRange reads "16000-16999".
func portRange(s string) (lo, hi int, err error) {
	if s == "" {
		return 0, 0, nil
	}
	a, b, ok := strings.Cut(s, "-")
	lo, err1 := strconv.Atoi(strings.TrimSpace(a))
	hi, err2 := strconv.Atoi(strings.TrimSpace(b))
	if !ok || err1 != nil || err2 != nil || lo < 1024 || hi < lo || hi > 65535 {
		return 0, 0, fmt.Errorf("--rtp-ports must be MIN-MAX within 1024-65535, for example 16000-16999; got %q", s)
	}
	return lo, hi, nil
}

// calledIn gives a call that a trunk brings to the tree; before there is one it is refused.
func (p *Process) calledIn(c engine.IncomingCall) {
	if t := p.treeUp.Load(); t != nil {
		t.CalledIn(c)
		return
	}
	go p.sip.RefuseLeg(c.Leg, 503) // from outside, since the leg is locked
}
