// Package ownership has a node act for the campaigns that it owns, for as long as it
// owns them: it adopts those that nobody acts for, stops the actors of those that
// are another node's, and hands them on when it is drained.
//
// What it must not know: how a claim is made and kept (package cluster), what the
// actors of a campaign do, SQL.
//
// Invariants:
//
//   - A campaign is given up only after its actors have stopped and what they had
//     to say is in the database. Its live calls go on where they are.
//   - What cannot be done now (the database is away, actors do not stop) is tried
//     again in the next round, a second later.
//   - One round at a time: nothing is adopted while campaigns are handed over.
package ownership
