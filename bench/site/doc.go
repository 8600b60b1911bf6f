// Package site runs the shipped program on this machine as an operator does: as one process that is
// restarted, or as the nodes of a cluster with an etcd, a PostgreSQL, a load balancer in front of
// them, and paths between all of these that can be cut.
//
// The paths are proxies on loopback addresses rather than network namespaces: those need root,
// which neither a developer's machine nor a builder has, and to TCP a cut that holds bytes back is
// like a network that loses packets. Two nodes are cut off from each other by who connects: the
// first message of a connection between nodes contains the sender's address.
//
// It uses the program's command line, its API and its database's address, not its packages. It only
// ends what it has started.
package site
