// Package owners runs nodes of a cluster as processes, kills, stops and isolates them, and judges
// from each node's own records whether two of them ever acted for one identity.
//
// A node here is actors/cluster on the real store, without the rest of the dialler: it acts by
// repeatedly writing a line for each identity that it owns, with the time on the boot-time clock,
// which all processes of a machine share. An act stands for an INVITE: the node checks right before
// that it is allowed to act.
//
// # What must hold
//
//   - An epoch of an identity has one owner, and nobody acts in an epoch after
//     somebody acted in a later one (engine/promise).
//   - Within ten seconds after nodes join, leave, die, pause or are
//     isolated, every identity has an owner that acts.
//
// The same with the library's own lookup (Config.Stock) breaks the first rule: that is why ours
// exists, and what TestTheStockLookupActivatesTwice documents.
package owners
