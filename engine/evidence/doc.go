// Package evidence is the record of one run of a campaign for those who have to
// judge it: what rules were in force, every attempt, every abandoned call with
// its cause, who was excluded, and the events with their chain. It is one zip
// file that stands for itself: a manifest names the SHA-256 of each part and is
// signed with the key of the installation.
//
// The package writes such a file and checks one, without a database. Its format
// is told in docs/evidence.md; a change of it needs another Format.
//
// It must not know where its content comes from.
package evidence
