package media

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// receiveBuffer is requested for every RTP socket (SO_RCVBUF): at 50 calls per socket it holds
// about a second of audio while the reader is stalled.
const receiveBuffer = 1 << 20

// line is one UDP port of a pair.
type line struct {
	conn *net.UDPConn
	raw  syscall.RawConn
	port uint16
	left atomic.Bool // another line replaced it: its reader ends
}

func newLine(conn *net.UDPConn) (*line, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &line{conn: conn, raw: raw, port: uint16(conn.LocalAddr().(*net.UDPAddr).Port)}, nil //nolint:gosec // a port
}

// widen requests the buffers that a port with many calls needs.
func (l *line) widen() {
	_ = l.conn.SetReadBuffer(receiveBuffer)
	_ = l.conn.SetWriteBuffer(receiveBuffer)
}

// sound says whether the descriptor is still the one that was bound.
func (l *line) sound() (ok bool) {
	_ = l.raw.Control(func(fd uintptr) {
		at, err := unix.Getsockname(int(fd))
		if err != nil {
			return
		}
		switch at := at.(type) {
		case *unix.SockaddrInet4:
			ok = at.Port == int(l.port)
		case *unix.SockaddrInet6:
			ok = at.Port == int(l.port)
		}
	})
	return ok
}

// strays are connections whose descriptor number was reused: closing them, or letting them be
// collected, would close the new owner's.
var strays struct {
	mu   sync.Mutex
	list []*line
}

// leave ends the line and its reader.
func (l *line) leave() {
	if l.left.Swap(true) {
		return
	}
	if l.sound() {
		_ = l.conn.Close()
		return
	}
	_ = l.conn.SetReadDeadline(time.Unix(1, 0)) // it waits for data that never comes
	strays.mu.Lock()
	strays.list = append(strays.list, l)
	strays.mu.Unlock()
}
