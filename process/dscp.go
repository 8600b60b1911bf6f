package process

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// marked gives what makes a socket mark its packets with a DSCP (RFC 2474), for net.ListenConfig and
// net.Dialer; nil for 0. flag names the setting.
func marked(flag string, dscp int) (func(network, address string, c syscall.RawConn) error, error) {
	switch {
	case dscp < 0 || dscp > 63:
		return nil, fmt.Errorf("%s is 0 to 63; got %d", flag, dscp)
	case dscp == 0:
		return nil, nil
	}
	tos := dscp << 2 // the lower two bits are ECN's
	return func(network, _ string, c syscall.RawConn) error {
		var err error
		control := c.Control(func(fd uintptr) {
			if !strings.HasSuffix(network, "6") {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, tos)
				return
			}
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
			// It may carry IPv4 too, which has an option of its own.
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, tos)
		})
		if control != nil {
			return control
		}
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
		return nil
	}, nil
}
