// Package recording stores the audio of calls as WAV files: the callee on the left, the bot on the
// right, μ-law at 8 kHz (WAVE format 7), one file per call.
//
//	call, 20 ms frames → chunk of 1 s → bounded queue → writer → file
//
// # What it must not know
//
// RTP, sockets, campaigns, the database; who may listen and how long a file is kept.
//
// # Who owns what
//
// A Recording belongs to its call, which gives it frames and ticks. Chunks in a queue, open files
// and everything on disk belong to the writers.
//
// # Invariants
//
//   - No method of a Recording blocks, does I/O or allocates once the pool of
//     chunks is warm. A full queue drops a chunk: it is counted and the
//     recording is incomplete.
//   - Both sides share one timeline, the call's ticks: missing audio is
//     silence, including dropped seconds.
//   - A file is called <attempt>.wav.part until it is complete. One left
//     behind by a crash is completed up to its last frame by Recover.
//   - Folders are 0700, files 0600. Nothing is synced to disk: a crash of the
//     process loses what was queued, a power cut what the system had not written.
package recording
