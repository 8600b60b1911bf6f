// Package owners runs nodes of a cluster as processes, kills, stops and cuts
// them off, and judges from what each noted itself whether ever two acted for
// one thing.
//
// A node here is actors/cluster on the real store, and nothing of the dialler
// above it: it acts by writing a line, again and again, for each identity that
// it owns, with the time on the boot-time clock, which all processes of a
// machine share. An act stands for an INVITE: the node looks whether it may
// right before.
//
// # What must hold
//
//   - An epoch of an identity has one owner, and nobody acts in an epoch after
//     somebody acted in a later one (engine/promise).
//   - Within ten seconds after nodes join, leave, die, stand still or are cut
//     off, every identity has an owner that acts.
//
// The same with the library's own lookup (Config.Stock) breaks the first rule:
// that is why ours exists, and what TestTheStockLookupActivatesTwice keeps.
package owners
