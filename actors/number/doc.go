// Package number has the actors of the outbound numbers: one for each number, which alone
// knows its caps, rest and strikes, and a pool for each campaign, which chooses among the
// campaign's numbers. What they decide stands in engine/numberpool.
package number
