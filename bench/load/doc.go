// Package load measures what a call costs: it starts the shipped program, its
// PostgreSQL, a model carrier and a model bot as processes of their own, offers
// answered calls at a steady rate, and says what each of them cost.
//
// A run is one campaign whose trunk is capped at the rate: every contact is
// answered, talks to the bot, is hung up by the bot, and gets a result. What is
// counted as a success is all of it, read from the database after the run.
//
// Figures and their source:
//
//   - CPU ms a call: user and system time of the process (for PostgreSQL of all
//     its processes, ended ones included) from /proc, from the campaign's start
//     to its last result, divided by the calls offered.
//   - calls/s: INVITEs a second, the first second and the last one left out.
//   - post-dial delay: admission (reserved_at) to INVITE on the wire
//     (invite_at), as stored with each attempt.
//   - commit: the engine's own histogram dialler_commit_seconds.
//   - KiB a live call: resident memory at its mean while calls are steadily
//     live, less that before the start without the heap's empty pages, divided by
//     the mean of the live calls.
//
// Linux only: /proc is read.
package load
