package carrier

import (
	"encoding/binary"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel notes when a datagram reaches this machine; on loopback that is
// the moment it was sent. A carrier that is late at reading is not late with
// that.

// stampRoom is space for one timestamp beside a datagram, in bytes.
const stampRoom = 64

// wantStamps asks the kernel for the times of a socket's datagrams.
func wantStamps(c *net.UDPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // without it the times of reading serve
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
}

// stampOf reads the time out of the ancillary data of a datagram; zero when
// there is none.
func stampOf(oob []byte) time.Time {
	for len(oob) > 0 {
		head, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return time.Time{}
		}
		if head.Level == unix.SOL_SOCKET && head.Type == unix.SO_TIMESTAMPNS && len(data) >= 16 {
			sec, nsec := int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])) //nolint:gosec // two's complement
			return time.Unix(sec, nsec)
		}
		oob = rest
	}
	return time.Time{}
}
