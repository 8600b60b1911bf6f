// Package transport provides what the stack listens on and sends from: UDP, TCP and TLS sockets,
// connections with a queue each, host names, and the addresses that failed recently. It passes
// every message read to one function, in wire order per socket.
//
// What it must not know: legs, trunks, transactions, and anything of a message but its length. It
// asks its caller whether an address is a trunk's.
package transport
