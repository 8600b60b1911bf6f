// Package number contains the actors of the outbound numbers: one for each number, which alone
// knows its caps, rest and strikes, and a pool for each campaign, which chooses among the
// campaign's numbers. Their decisions are in engine/numberpool.
package number
