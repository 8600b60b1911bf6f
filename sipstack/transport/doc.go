// Package transport is what the stack listens on and sends from: UDP, TCP and
// TLS sockets, connections and the queue of each, host names and the addresses
// that failed lately. It hands every message that is read to one function, in
// wire order per socket.
//
// What it must not know: legs, trunks, transactions, and what is in a message
// beyond its length. Whether an address is a trunk's it asks.
package transport
