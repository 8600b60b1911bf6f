// Package commit measures the cost of making the steps of calls durable: with the writers of the
// campaign tree on the real store, and for comparison with a plain COPY of the same events, which
// is the minimum, in one run on one PostgreSQL created for it, with fsync.
//
// Writer: calls are offered at a steady rate, each with the five writes and five events of an
// answered call, 250 ms apart. "commit" is the duration of a transaction, "durable" the time from
// when a write was due until its sender learned that it is in the database. Where less is done than
// was offered, the database or the machine is saturated, and the time is that of a growing queue.
// The last row offers as much as is accepted: a fixed number of writes is always waiting.
//
// COPY: the events that the writer had written, in binary, by one connection into a table with the
// columns and indexes of events, so many per transaction, one after another.
//
// Spool: what live calls produce while the database is unavailable, by one writer into its lane, so
// many writes at a time, one after another; each time includes one fsync.
//
// CPU is user and system time in µs per event: of this process, which also generates the load, and
// of all of the server's processes. Linux only: /proc is read.
package commit
