// Package campaign is the state machine of a campaign and its runs, and the messages that travel
// between the API and the campaign tree.
//
// It decides which lifecycle command is legal in which state and what the command causes; it must
// not know contacts one by one, pacing, or how an effect is carried out.
//
// Invariants: nothing but the transition table assigns the state; a completed run has a completion
// reason, a failed one a failure reason; the run number only grows by Restart and only shrinks by
// Cancel Restart.
package campaign
