// Package site runs the shipped program on this machine as an operator does: as
// one process with many lives, or as the nodes of a cluster with an etcd, a
// PostgreSQL, a door in front of them, and ways between all of these that can be
// cut.
//
// The ways are proxies on loopback addresses, and no network namespaces: those
// need root, which neither a developer's machine nor a builder has, and a cut
// that holds bytes back is to TCP what a network is that loses packets. Two nodes
// are cut from each other by who connects: the first message of a connection
// between nodes has the sender's address in it.
//
// It knows the program by its command line, its API and its database's address,
// not its packages. It ends only what it has started.
package site
