package process

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/process/nat"
	"dialler/sipstack"
)

// TrunkFinding is what one step of a check came to.
type TrunkFinding = sipstack.TrunkFinding

// CheckTrunk asks a trunk's far side, without a call, whether calls can be placed. It opens sockets of its own,
// at the addresses of the settings' SIP listeners and any free ports, so that a dialler may run beside it.
// patience is how long each answer may take.
func CheckTrunk(ctx context.Context, f *Flags, t engine.TrunkSettings, patience time.Duration,
	log zerolog.Logger) ([]TrunkFinding, error) {
	if err := f.addresses(); err != nil {
		return nil, err
	}
	listeners, err := f.sipListeners()
	if err != nil {
		return nil, err
	}
	for i := range listeners {
		l := &listeners[i]
		host, _, _ := net.SplitHostPort(l.Address)
		if nat.IsServer(l.ExternalHost) {
			if l.ExternalHost, err = askOnce(ctx, l.ExternalHost, host); err != nil {
				return nil, err
			}
		}
		l.Address, l.Transports = net.JoinHostPort(host, "0"), []sipstack.Transport{sipstack.UDP, sipstack.TCP}
	}
	s, err := sipstack.New(sipstack.Config{Listeners: listeners, Log: log})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return s.Check(ctx, trunkConfig(t), patience), nil
}

// askOnce returns what a STUN server says of a host of ours.
func askOnce(ctx context.Context, setting, host string) (string, error) {
	server, err := nat.Server(setting)
	if err != nil {
		return "", fmt.Errorf("external %w", err)
	}
	from, _ := netip.ParseAddr(host)
	seen, err := nat.Ask(ctx, server, from)
	return seen.String(), err
}
