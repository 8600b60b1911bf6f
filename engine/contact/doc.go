// Package contact is the state machine of one person in one campaign: what
// the end of an attempt, a result, an exclusion, a callback or the end of the
// run means for when, and whether, the person is dialled again.
//
// It must not know how a call is made or paced; it learns of an attempt only
// through Attempted (the end) and Reached (the bot has the call).
//
// Invariants: nothing but the transition table assigns the state; a contact
// has at most one live attempt; Used never exceeds Max by more than the one
// attempt of a callback; an excluded or processed contact has no due time.
package contact
