//go:build !linux

package media

import (
	"net"
	"net/netip"
	"syscall"
)

// One datagram per system call, for systems without recvmmsg(2).

type reader struct {
	conn *net.UDPConn
	buf  [datagramCap]byte
	n    int
	from netip.AddrPort
}

func newReader(conn *net.UDPConn, _ int) (*reader, error) { return &reader{conn: conn}, nil }

func (r *reader) read() (int, error) {
	n, from, err := r.conn.ReadFromUDPAddrPort(r.buf[:])
	r.n, r.from = n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	return 1, err
}

func (r *reader) datagram(int) ([]byte, netip.AddrPort) { return r.buf[:r.n], r.from }

type writer struct {
	n    int
	bufs [][sendCap]byte
	size []int
	to   []netip.AddrPort
}

func newWriter(batch int) *writer {
	return &writer{bufs: make([][sendCap]byte, batch), size: make([]int, batch), to: make([]netip.AddrPort, batch)}
}

func (w *writer) slot() *[sendCap]byte { return &w.bufs[w.n] }

func (w *writer) commit(to netip.AddrPort, n int) {
	w.to[w.n], w.size[w.n] = to, n
	w.n++
}

// full: two more, the most that one tick of a call may add, have no room.
func (w *writer) full() bool { return w.n >= len(w.bufs)-1 }

func (w *writer) flush(raw syscall.RawConn) (sent, failed int) {
	for i := range w.n {
		to := &syscall.SockaddrInet4{Port: int(w.to[i].Port()), Addr: w.to[i].Addr().As4()}
		var err error
		if e := raw.Write(func(fd uintptr) bool {
			err = syscall.Sendto(int(fd), w.bufs[i][:w.size[i]], 0, to)
			return true
		}); e != nil || err != nil {
			failed++
			continue
		}
		sent++
	}
	w.n = 0
	return sent, failed
}
