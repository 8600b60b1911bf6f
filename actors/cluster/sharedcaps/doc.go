// Package sharedcaps has one node of a cluster keep the count of each trunk's calls
// a second and channels, each bot's seats and each number's calls, and asks that
// node for the others (rules: engine/quota, ADR 30).
//
// What it must not know: what is counted and how; questions and answers are bytes
// of the tree (port Tree).
//
// Who keeps a count is decided by package cluster's claims: the first that needs
// it claims it, and releases it after an idle minute or when it is
// drained. After its death whoever asks next claims it. A question for a count
// that is kept here goes to the tree at once and costs nothing more.
//
// Questions and what is given back go over the link of the two nodes (package link),
// which gathers them for a few milliseconds.
package sharedcaps
