//go:build !linux

package datagram

import (
	"net"
	"net/netip"
	"syscall"
)

// One datagram per system call, for systems without recvmmsg(2).

type Reader struct {
	conn *net.UDPConn
	buf  [Cap]byte
	n    int
	from netip.AddrPort
}

func NewReader(conn *net.UDPConn, _ int) (*Reader, error) { return &Reader{conn: conn}, nil }

func (r *Reader) Read(take func(n int) (enough bool)) error {
	n, from, err := r.conn.ReadFromUDPAddrPort(r.buf[:])
	if err != nil {
		return err
	}
	r.n, r.from = n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	take(1)
	return nil
}

func (r *Reader) Datagram(int) ([]byte, netip.AddrPort) { return r.buf[:r.n], r.from }

type Writer struct {
	N    int
	bufs [][SendCap]byte
	size []int
	to   []netip.AddrPort
}

func NewWriter(batch int) *Writer {
	return &Writer{bufs: make([][SendCap]byte, batch), size: make([]int, batch), to: make([]netip.AddrPort, batch)}
}

func (w *Writer) Slot() *[SendCap]byte { return &w.bufs[w.N] }

func (w *Writer) Commit(to netip.AddrPort, n int) {
	w.to[w.N], w.size[w.N] = to, n
	w.N++
}

// Datagram returns the i-th collected datagram.
func (w *Writer) Datagram(i int) []byte { return w.bufs[i][:w.size[i]] }

// Full says that there is no room for two more datagrams, the most that one tick of a call may add.
func (w *Writer) Full() bool { return w.N >= len(w.bufs)-1 }

func (w *Writer) Flush(raw syscall.RawConn) (sent, failed int) {
	for i := range w.N {
		addr, port := w.to[i].Addr(), int(w.to[i].Port())
		var to syscall.Sockaddr = &syscall.SockaddrInet6{Port: port, Addr: addr.As16()}
		if addr.Is4() {
			to = &syscall.SockaddrInet4{Port: port, Addr: addr.As4()}
		}
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
	w.N = 0
	return sent, failed
}
