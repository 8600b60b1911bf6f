// Package calls serves calls: placing one, what became of them, what a bot does with
// one that is live, recordings. Its view of an attempt is that of the attempt trail.
//
// It must not know: campaigns and their contacts, beyond their identifiers.
package calls
