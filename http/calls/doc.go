// Package calls serves calls: placing one, its outcome, a bot's commands to a live one, and
// recordings. Its view of an attempt is that of the attempt trail.
//
// It must not know campaigns and their contacts, except for their identifiers.
package calls
