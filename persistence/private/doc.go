// Package private runs a private PostgreSQL server for one machine: it finds the installed server
// binaries, creates a cluster in a data folder, starts it on a unix socket and stops it. The
// dialler uses it when it has no DATABASE_URL.
//
// It must not know: tables, the store, or anything about calls. It returns a URL; the rest is up to
// package persistence.
//
// Invariants: no TCP port is opened; the socket is in a folder that only the server's user (and
// root) may enter, which is why the socket trusts every client. fsync and synchronous_commit stay
// on. The server never runs as root: when started by root it runs as the user postgres, or as
// nobody if there is none, and the data is below /var/lib/dialler if it would otherwise be below a
// home that this user cannot enter. Signals go to the process that was started or adopted, never by
// name; the remains of a killed server are recognised by the cluster that they work in.
//
// Who owns what: the folder of a server belongs to this package: data<major>/ is the cluster, run/
// the socket, postgres.log the server's log, lock the lock taken while starting it. The server is
// in a session of its own: Ctrl-C on our terminal does not reach it, so that calls can drain into
// it first; and it outlives a kill −9 of ours. Start then adopts it. A postmaster.pid whose process
// is gone is left to PostgreSQL, which recovers from its log. Keep restarts the server when it
// ends.
package private
