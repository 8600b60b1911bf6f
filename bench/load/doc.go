// Package load measures the cost of a call: it starts the shipped program, its PostgreSQL, a model
// carrier and a model bot as processes of their own, offers answered calls at a steady rate, and
// reports the cost of each call.
//
// A run is one campaign whose trunk is capped at the rate: every contact answers, talks to the bot,
// is hung up on by the bot, and gets a result. A success is all of that, read from the database
// after the run.
//
// Figures and their source:
//
//   - CPU ms per call: user and system time of the process (for PostgreSQL of all
//     its processes, including ended ones) from /proc, from the campaign's start
//     to its last result, divided by the calls offered.
//   - calls/s: INVITEs per second, without the first second and the last one.
//   - post-dial delay: admission (reserved_at) to INVITE on the wire
//     (invite_at), as stored with each attempt.
//   - commit: the engine's own histogram dialler_commit_seconds.
//   - KiB per live call: mean resident memory while calls are steadily
//     live, minus that before the start without the heap's empty pages, divided by
//     the mean of the live calls.
//
// Linux only: /proc is read.
package load
