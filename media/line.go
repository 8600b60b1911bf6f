package media

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// receiveBuffer is asked for on every RTP socket (SO_RCVBUF): at 50 calls a
// socket it holds about a second of audio while the reader is held up.
const receiveBuffer = 1 << 20

// line is one UDP port of a pair.
type line struct {
	conn *net.UDPConn
	raw  syscall.RawConn
	port uint16
	left atomic.Bool // another one took its place: its reader ends
}

func newLine(conn *net.UDPConn) (*line, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &line{conn: conn, raw: raw, port: uint16(conn.LocalAddr().(*net.UDPAddr).Port)}, nil //nolint:gosec // a port
}

// widen asks for the buffers that a port of many calls needs.
func (l *line) widen() {
	_ = l.conn.SetReadBuffer(receiveBuffer)
	_ = l.conn.SetWriteBuffer(receiveBuffer)
}

// sound says whether the descriptor is still the one that was bound.
func (l *line) sound() (ok bool) {
	_ = l.raw.Control(func(fd uintptr) {
		at, err := unix.Getsockname(int(fd))
		in4, is4 := at.(*unix.SockaddrInet4)
		ok = err == nil && is4 && in4.Port == int(l.port)
	})
	return ok
}

// strays are connections whose descriptor has become somebody else's: to close
// them, or to let them be collected, would close that.
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
	_ = l.conn.SetReadDeadline(time.Unix(1, 0)) // it waits for what never comes
	strays.mu.Lock()
	strays.list = append(strays.list, l)
	strays.mu.Unlock()
}
