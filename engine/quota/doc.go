// Package quota holds the rules by which one node of a cluster keeps the count of
// what all nodes share: a trunk's calls a second and channels, a bot's seats, a
// number's calls, rest and dials. The others ask it for every use.
//
// What it must not know: what is counted (packages trunk, fleet, numberpool), how
// nodes talk, what is stored where.
//
// Invariants:
//
//   - One keeper at a time (package ownership): at least Apart lies between the
//     last moment at which one acts and the first at which another may, unless the
//     first gave it up.
//   - A grant may be used for UseFor after it was asked for, on the asker's clock
//     and from before the question left: whatever the answer's way took.
//   - A new keeper grants nothing before every unused grant of the one before has
//     ended (Settle), and has then counted the uses that the database knows. Every
//     use is durable before its INVITE leaves, so none is missed, and nobody has
//     to be reached for that.
//   - A question without an answer within Patience is taken for refused; what it
//     may have been granted is given back. What is given back is told until the
//     keeper has confirmed it. What was lost all the same is found by comparing
//     the book with the database (Strays).
//   - What a node says is taken in the order in which it says it, or not at all (package
//     link): a question that comes late does not undo what was given back after it.
package quota
