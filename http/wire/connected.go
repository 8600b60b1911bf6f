package wire

import (
	"net"
	"syscall"
	"time"
)

// WhileConnected calls gone if the client closes its connection before stop is called. It leaves
// what the client has sent unread: it checks the state of the socket.
func WhileConnected(nc net.Conn, gone func()) (stop func()) {
	socket := socketOf(nc)
	if socket == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		look := time.NewTicker(hangUpLook)
		defer look.Stop()
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			if !established(socket) {
				gone()
				return
			}
		}
	}()
	return func() { close(done) }
}

// socketOf finds the TCP socket below TLS and our own layers; nil when there is none.
func socketOf(nc net.Conn) syscall.RawConn {
	for {
		switch c := nc.(type) {
		case interface{ NetConn() net.Conn }:
			nc = c.NetConn()
		case *net.TCPConn:
			raw, err := c.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		default:
			return nil
		}
	}
}

// established says that neither side has closed the connection. The state is the first byte of
// struct tcp_info (linux/tcp.h).
func established(socket syscall.RawConn) bool {
	const tcpEstablished = 1
	var info int
	var err error
	if socket.Control(func(fd uintptr) {
		info, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
	}) != nil {
		return false // it is closed
	}
	return err != nil || info&0xff == tcpEstablished
}

// hangUpLook is the interval at which a connection is checked for its client.
const hangUpLook = 250 * time.Millisecond
