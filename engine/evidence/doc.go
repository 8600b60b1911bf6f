// Package evidence is the record of one run of a campaign for auditors: which rules were in force,
// every attempt, every abandoned call with its cause, who was excluded, and the events with their
// chain. It is one self-contained zip file: a manifest names the SHA-256 of each part and is signed
// with the key of the installation.
//
// The package writes such a file and checks one, without a database. Its format is documented in
// docs/evidence.md; any change needs a new Format.
//
// It must not know where its content comes from.
package evidence
