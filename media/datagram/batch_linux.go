package datagram

import (
	"cmp"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Batched datagram I/O by recvmmsg(2) and sendmmsg(2). The batch calls of x/net/ipv4 do the same
// but allocate an address per datagram; at fifty packets per second and call that is most of the
// process's garbage.

type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

// Reader reads batches from one socket; one goroutine uses it.
type Reader struct {
	raw   syscall.RawConn
	hdrs  []mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet6 // of either family
	bufs  [][Cap]byte
	n     int
	err   error
	try   func(fd uintptr) bool
	take  func(n int) (enough bool)
}

func NewReader(conn *net.UDPConn, batch int) (*Reader, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	r := &Reader{
		raw: raw, hdrs: make([]mmsghdr, batch), iovs: make([]unix.Iovec, batch),
		names: make([]unix.RawSockaddrInet6, batch), bufs: make([][Cap]byte, batch),
	}
	for i := range r.hdrs {
		r.iovs[i].Base = &r.bufs[i][0]
		r.iovs[i].SetLen(Cap)
		h := &r.hdrs[i].hdr
		h.Name = (*byte)(unsafe.Pointer(&r.names[i])) //nolint:gosec // the kernel's interface
		h.Iov = &r.iovs[i]
		h.SetIovlen(1)
	}
	r.try = func(fd uintptr) bool {
		for {
			for i := range cmp.Or(r.n, batch) { // only these were written to
				r.hdrs[i].hdr.Namelen = unix.SizeofSockaddrInet6
			}
			n, _, e := unix.Syscall6(unix.SYS_RECVMMSG, fd,
				uintptr(unsafe.Pointer(&r.hdrs[0])), uintptr(batch), //nolint:gosec // the kernel's interface
				unix.MSG_DONTWAIT, 0, 0)
			switch {
			case e == 0:
				r.n, r.err = int(n), nil
				// What is not full has emptied the socket: to ask at once for more costs a call of the system for
				// nothing. The poller is asked only inside this function, and forgets nothing that came meanwhile.
				return r.take(r.n) || r.n == batch
			case errors.Is(e, unix.EINTR):
			case errors.Is(e, unix.EAGAIN):
				return false
			default:
				r.n, r.err = 0, e
				return true
			}
		}
	}
	return r, nil
}

// Read waits for datagrams and gives take their number, again and again until it says that this is
// enough for now, or reading fails.
func (r *Reader) Read(take func(n int) (enough bool)) error {
	r.take = take
	if err := r.raw.Read(r.try); err != nil {
		return err
	}
	return r.err
}

// Datagram returns the i-th datagram of the last batch; it is valid until the next read.
func (r *Reader) Datagram(i int) ([]byte, netip.AddrPort) {
	name := &r.names[i]
	port := (*[2]byte)(unsafe.Pointer(&name.Port)) //nolint:gosec // network byte order, at one place in both families
	addr := netip.Addr{}
	if name.Family == unix.AF_INET {
		addr = netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr) //nolint:gosec // the shorter one
	} else {
		addr = netip.AddrFrom16(name.Addr)
	}
	return r.bufs[i][:r.hdrs[i].len], netip.AddrPortFrom(addr, binary.BigEndian.Uint16(port[:]))
}

// Writer writes batches to any socket; one goroutine uses it.
type Writer struct {
	hdrs  []mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet6 // of either family
	bufs  [][SendCap]byte
	N     int // datagrams filled
	from  int // the first one of the current call
	done  int
	err   error
	try   func(fd uintptr) bool
}

func NewWriter(batch int) *Writer {
	w := &Writer{
		hdrs: make([]mmsghdr, batch), iovs: make([]unix.Iovec, batch),
		names: make([]unix.RawSockaddrInet6, batch), bufs: make([][SendCap]byte, batch),
	}
	for i := range w.hdrs {
		w.iovs[i].Base = &w.bufs[i][0]
		h := &w.hdrs[i].hdr
		h.Name = (*byte)(unsafe.Pointer(&w.names[i])) //nolint:gosec // the kernel's interface
		h.Iov = &w.iovs[i]
		h.SetIovlen(1)
	}
	w.try = func(fd uintptr) bool {
		for {
			n, _, e := unix.Syscall6(unix.SYS_SENDMMSG, fd,
				uintptr(unsafe.Pointer(&w.hdrs[w.from])), uintptr(w.N-w.from), //nolint:gosec // the kernel's interface
				unix.MSG_DONTWAIT, 0, 0)
			if e == 0 {
				w.done, w.err = int(n), nil
				return true
			}
			if !errors.Is(e, unix.EINTR) {
				w.done, w.err = 0, e
				return true
			}
		}
	}
	return w
}

// Slot returns the buffer of the next datagram; Commit adds its first n bytes to the batch.
func (w *Writer) Slot() *[SendCap]byte { return &w.bufs[w.N] }

func (w *Writer) Commit(to netip.AddrPort, n int) {
	w.iovs[w.N].SetLen(n)
	name := &w.names[w.N]
	if to.Addr().Is4() {
		name4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(name)) //nolint:gosec // the shorter one
		name4.Family, name4.Addr = unix.AF_INET, to.Addr().As4()
		w.hdrs[w.N].hdr.Namelen = unix.SizeofSockaddrInet4
	} else {
		name.Family, name.Flowinfo, name.Addr = unix.AF_INET6, 0, to.Addr().As16()
		w.hdrs[w.N].hdr.Namelen = unix.SizeofSockaddrInet6
	}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&name.Port))[:], to.Port()) //nolint:gosec // network byte order
	w.N++
}

// Datagram returns the i-th collected datagram.
func (w *Writer) Datagram(i int) []byte { return w.bufs[i][:w.iovs[i].Len] }

// Full says that there is no room for two more datagrams, the most that one tick of a call may add.
func (w *Writer) Full() bool { return w.N >= len(w.hdrs)-1 }

// Flush sends the batch and returns how many datagrams the kernel took and refused.
func (w *Writer) Flush(raw syscall.RawConn) (sent, failed int) {
	for w.from = 0; w.from < w.N; {
		if err := raw.Write(w.try); err != nil { // closed
			failed += w.N - w.from
			break
		}
		if w.err != nil { // by the first datagram: an address without route, a full queue
			failed++
			w.from++
			continue
		}
		sent += w.done
		w.from += w.done
	}
	w.N = 0
	return sent, failed
}
