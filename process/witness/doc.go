// Package witness shows the newest seal of the installation to witnesses outside of it: webhooks, files
// on other disks, mailboxes, object stores with a retention lock, time-stamp authorities.
//
//	sealer ── Sealed ──▶ Anchorer ── one goroutine a witness ──▶ Witness ── receipt ──▶ Port.Keep
//
// # What it must not know
//
// How seals are made and where receipts are stored: they come and go through Port.
//
// # Invariants
//
//   - Nobody waits for a witness: each has a goroutine, and only the newest seal matters to it.
//   - A failure is logged once, and tried again with growing pauses until it is over.
//   - Addresses that only this machine's network may reach are refused (http/egress).
package witness
