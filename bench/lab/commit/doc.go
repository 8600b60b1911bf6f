// Package commit measures what it costs to make the steps of calls durable: the
// writers of the campaign tree on the real store, beside the plain COPY of the
// same events, which is the floor, in one run on one PostgreSQL that was made for
// it, with fsync.
//
// Writer: calls are offered at a steady rate, each with the five writes and five
// events of an answered call, 250 ms apart. "commit" is the duration of a
// transaction, "durable" the time from when a write was due until its sender
// heard that it is in the database. Where less is done than was offered the
// database, or the machine, is at its end, and the time is that of a queue that
// grows. The last row offers as much as is taken: so many writes wait at any
// time.
//
// COPY: the events that the writer had written, binary, by one connection into
// a table of the columns and indexes of events, so many in a transaction, one
// after the other.
//
// Spool: what live calls produce while the database is away, by one writer into
// its lane, so many writes at a time, one after the other; each time is that of
// one fsync and more.
//
// CPU is user and system time in µs an event: of this process, which offers the
// load too, and of all of the server's processes. Linux only: /proc is read.
package commit
