// Package sharedcaps has one node of a cluster, the keeper, count each trunk's calls per second and
// channels, each bot's seats and each number's calls; the other nodes ask that node (rules:
// engine/quota, ADR 30).
//
// It must not know what is counted or how; questions and answers are opaque bytes of the tree (port
// Tree).
//
// Package cluster's claims decide who keeps a count: a node claims a count when it first needs it,
// and releases it after an idle minute or when it is drained. If the keeper dies, the next node
// that needs the count claims it. A question for a count kept here goes straight to the tree and
// costs nothing more.
//
// Questions and returned grants go over the link of the two nodes (package link), which gathers
// them for a few milliseconds.
package sharedcaps
