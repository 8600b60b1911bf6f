// Package quota holds the rules by which one node of a cluster keeps the count of shared resources:
// a trunk's calls per second and channels, a bot's seats, a number's calls, rest and dials. The
// other nodes ask it for every use.
//
// What it must not know: what is counted (packages trunk, fleet, numberpool), how nodes talk, what
// is stored where.
//
// Invariants:
//
//   - One keeper at a time (package ownership): at least Apart lies between the
//     last moment at which one acts and the first at which another may, unless the
//     first gave it up.
//   - A grant may be used for UseFor after the request, on the requester's clock
//     and from before the request was sent, however long the answer took.
//   - A new keeper grants nothing before every unused grant of its predecessor has
//     ended (Settle), and has then counted the uses in the database. Every use is
//     durable before its INVITE leaves, so none is missed, and no node has to be
//     reached for that.
//   - A request without an answer within Patience is treated as refused; anything
//     that it may have been granted is given back. Returns are repeated until the
//     keeper has confirmed them. Losses are found by comparing the book with the
//     database (Strays).
//   - A node's messages are processed in the order of sending, or not at all (package
//     link): a late request does not undo a return that was sent after it.
package quota
