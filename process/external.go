package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"dialler/http"
	"dialler/process/configfile"
	"dialler/process/nat"
	"dialler/sipstack"
)

// External addresses: what carriers see in place of our own. Each is a setting: an address, or a STUN server that
// says it.

// rtpExternal returns the external address of RTP, or the STUN server that says it: that of --rtp-external, else
// that of the listener whose host RTP uses; empty where there is none, or it is a name, which SDP cannot have.
func (f *Flags) rtpExternal(listeners []sipstack.Listener, rtp []string) string {
	if f.RTPExternal != "" || f.RTPHost != "" {
		return f.RTPExternal
	}
	at, ok := firstIPv4(rtp)
	if !ok {
		return ""
	}
	for _, l := range listeners {
		if host, _, _ := net.SplitHostPort(l.Address); host != at {
			continue
		}
		if a, err := netip.ParseAddr(l.ExternalHost); nat.IsServer(l.ExternalHost) || err == nil && a.Is4() {
			return l.ExternalHost
		}
		return ""
	}
	return ""
}

func firstIPv4(hosts []string) (host string, ok bool) {
	i := slices.IndexFunc(hosts, func(h string) bool { a, err := netip.ParseAddr(h); return err == nil && a.Is4() })
	if i < 0 {
		return "", false
	}
	return hosts[i], true
}

// checkExternal says what is wrong with the external addresses.
func (f *Flags) checkExternal(listeners []sipstack.Listener) error {
	var wrong []error
	server := func(name, setting string) {
		if !nat.IsServer(setting) {
			return
		}
		if _, err := nat.Server(setting); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %w", name, err))
		}
	}
	for i, l := range listeners {
		name := fmt.Sprintf("%s: %s[%d] (%s): external", f.ConfigPath, configfile.ListenersKey, i, l.Name)
		if l.ExternalHost == f.SIPExternal {
			name = "--sip-external"
		}
		server(name, l.ExternalHost)
		host, _, _ := net.SplitHostPort(l.Address)
		if a, err := netip.ParseAddr(host); nat.IsServer(l.ExternalHost) && err == nil && a.Is6() && !a.IsUnspecified() {
			wrong = append(wrong, fmt.Errorf("%s: a STUN server is asked over IPv4, and the listener is at %s", name, a))
		}
	}
	if f.RTPExternal != "" {
		server("--rtp-external", f.RTPExternal)
		if a, err := netip.ParseAddr(f.RTPExternal); !nat.IsServer(f.RTPExternal) && (err != nil || !a.Is4()) {
			wrong = append(wrong, fmt.Errorf("--rtp-external must be an IPv4 address or stun:HOST[:PORT]; got %q",
				f.RTPExternal))
		}
		if _, ok := firstIPv4(rtpHosts(f.RTPHost, listeners)); !ok {
			wrong = append(wrong, errors.New("--rtp-external is an IPv4 address, and RTP has none; give one with --rtp-host"))
		}
	}
	return errors.Join(wrong...)
}

// watched is a STUN server that is asked from one address of ours, and who is told of what it says.
type watched struct {
	*nat.Watch
	tell []func(netip.Addr)
}

// externals asks the STUN servers of the settings: it writes what they say into the listeners and returns the
// external address of RTP, which is not valid without one. A server that has never answered is an error: who was not
// told where to send would not be heard.
func (p *Process) externals(ctx context.Context, listeners []sipstack.Listener, rtp []string) (netip.Addr, error) {
	audio := p.flags.rtpExternal(listeners, rtp)
	for i := range listeners {
		l := &listeners[i]
		if !nat.IsServer(l.ExternalHost) {
			continue
		}
		host, _, _ := net.SplitHostPort(l.Address)
		w, err := p.watch(ctx, l.ExternalHost, host)
		if err != nil {
			return netip.Addr{}, err
		}
		name := l.Name
		l.ExternalHost = w.Seen().String()
		w.tell = append(w.tell, func(a netip.Addr) { p.sip.SetExternalHost(name, a.String()) })
	}
	if !nat.IsServer(audio) {
		a, _ := netip.ParseAddr(audio)
		return a, nil
	}
	host, _ := firstIPv4(rtp)
	w, err := p.watch(ctx, audio, host)
	if err != nil {
		return netip.Addr{}, err
	}
	w.tell = append(w.tell, func(a netip.Addr) { p.media.SetHost(a) })
	return w.Seen(), nil
}

// watch returns the watch of a server from a host of ours; it is begun where there is none yet.
func (p *Process) watch(ctx context.Context, setting, host string) (*watched, error) {
	server, err := nat.Server(setting)
	if err != nil {
		return nil, err
	}
	from, _ := netip.ParseAddr(host)
	data, err := DataDir(p.flags.DataDir, p.name)
	if err != nil {
		return nil, err
	}
	last := lastExternal{filepath.Join(data, lastExternalName+strings.ReplaceAll(server, ":", "_")+"-"+host), p.log}
	for _, w := range p.externalWatches {
		if w.Server == server && w.From == from {
			return w, nil
		}
	}
	w := new(watched)
	w.Watch, err = nat.Begin(ctx, nat.Config{Server: server, From: from, Every: p.tuning.stunEvery,
		Within: p.tuning.stunPatience, Log: p.log, Last: last.read(),
		Changed: func(a netip.Addr) {
			last.keep(a)
			for _, tell := range w.tell {
				tell(a)
			}
		}})
	if err != nil {
		return nil, fmt.Errorf("our external address is not known (%s): %w; check the name and the way to it, "+
			"or give the address itself", setting, err)
	}
	last.keep(w.Seen())
	p.externalWatches = append(p.externalWatches, w)
	return w, nil
}

// lastExternalName begins the names of files in the data folder with the last answer of a STUN server to an address of
// ours.
const lastExternalName = "external-"

// lastExternal is the file with the last answer of a STUN server: calls that a crash left are ended at the next start
// though the server is away then.
type lastExternal struct {
	file string
	log  zerolog.Logger
}

// read returns the last answer; not valid if there is none.
func (l lastExternal) read() netip.Addr {
	raw, _ := os.ReadFile(l.file)
	a, _ := netip.ParseAddr(strings.TrimSpace(string(raw)))
	return a
}

func (l lastExternal) keep(a netip.Addr) {
	if err := replaceFile(l.file, []byte(a.String()+"\n")); err != nil {
		l.log.Warn().Err(err).Msg("our external address could not be kept in the data folder; a start without the STUN " +
			"server is refused")
	}
}

// externalCheck tells of a STUN server that does not answer, so that its last address stays in use, and of one that
// says a private address.
func (p *Process) externalCheck() http.Check {
	c := http.Check{Name: "external_address", OK: true}
	for _, w := range p.externalWatches {
		switch since, why := w.Failing(); {
		case why != "":
			since = since.UTC()
			c.Warning, c.Since = http.STUNAway, &since
			c.Detail = why + "; " + w.Seen().String() + " stays in use"
		case c.Warning == "" && nat.Inner(w.Seen()):
			c.Warning = http.ExternalPrivate
			c.Detail = "the STUN server " + w.Server + " sees the private address " + w.Seen().String() +
				": only who is in the same network can send to it"
		}
	}
	return c
}
