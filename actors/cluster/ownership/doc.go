// Package ownership makes a node act for the campaigns that it owns, for as long as it owns them:
// it adopts unowned campaigns, stops the actors of campaigns that another node owns, and hands its
// campaigns over when it is drained.
//
// It must not know how a claim is made and kept (package cluster), what a campaign's actors do, or
// SQL.
//
// Invariants:
//
//   - A campaign is given up only after its actors have stopped and everything they
//     had to write is in the database. Its live calls go on where they are.
//   - What cannot be done now (the database is down, actors do not stop) is tried
//     again in the next round, a second later.
//   - One round at a time: nothing is adopted while campaigns are handed over.
package ownership
