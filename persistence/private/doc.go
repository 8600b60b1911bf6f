// Package private runs a PostgreSQL server of its own for one machine: it finds
// the installed server binaries, makes a cluster in a data folder, starts it
// on a unix socket and stops it. It is what the dialler uses when nobody gave
// it a DATABASE_URL.
//
// It must not know: tables, the store, or anything about calls. It gives a
// URL; the rest is package persistence.
//
// Invariants: no TCP port is opened; the socket stands in a folder that only
// the server's user (and root) may enter, which is why the socket trusts who
// comes in. fsync and synchronous_commit stay on. The server never runs as
// root: as root it is given to the user postgres, or to nobody when there is
// none, and the data lies below /var/lib/dialler when it would otherwise lie
// below a home that this user cannot enter. A server is signalled by the process
// that was started or adopted, never by name; what a killed one left behind is
// known by the cluster that it works in.
//
// Who owns what: the folder of a server belongs to this package: data<major>/
// is the cluster, run/ the socket, postgres.log the server's log, lock the
// lock of those who start it. The server is in a session of its own: Ctrl-C
// on our terminal does not reach it, so that calls can drain into it first;
// and it outlives a kill −9 of ours. Start then adopts it. A postmaster.pid
// whose process is gone is left to PostgreSQL, which recovers from its log. Keep
// starts the server again when it ends.
package private
