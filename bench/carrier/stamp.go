package carrier

import (
	"encoding/binary"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel records when a datagram reaches this machine; on loopback that is when it was sent. A
// carrier that reads late does not falsify that time.

// stampRoom is the space for one timestamp beside a datagram, in bytes.
const stampRoom = 64

// wantStamps makes the kernel report the arrival times of a socket's datagrams.
func wantStamps(c *net.UDPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // if it fails, the times of reading are used
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
}

// stampOf reads the time from the ancillary data of a datagram; zero when there is none.
func stampOf(oob []byte) time.Time {
	for len(oob) > 0 {
		head, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return time.Time{}
		}
		if head.Level == unix.SOL_SOCKET && head.Type == unix.SO_TIMESTAMPNS && len(data) >= 16 {
			sec, nsec := int64(binary.NativeEndian.Uint64(data)), int64(
				binary.NativeEndian.Uint64(data[8:])) //nolint:gosec // two's complement
			return time.Unix(sec, nsec)
		}
		oob = rest
	}
	return time.Time{}
}
