// Package attempt is the state machine of one dial of a contact, from the
// reserved leases to the end of its last SIP leg.
//
// It decides what is placed, cancelled, hung up, recorded and given back; the
// contact actor carries out its effects. It must not know the clock (time
// comes in with the event), SIP messages, sockets, or what the end means for
// the contact (package contact decides that from Over).
//
// Invariants: nothing but the transition table assigns the state; every
// attempt reaches Ended exactly once, emits Over exactly once and gives back
// its seat, trunk channels and number slot exactly once; the INVITE effect
// (Dial) and the ACK effect (Confirm) are gated: they are carried out only
// after everything recorded in the same step is durable; an ended attempt
// never dials.
//
// An attempt is over when its last leg is: after a decision to end (Ending)
// the seat goes back at once, the channel, slot and number only with the
// leg's last event, so that two calls to one number can never overlap.
package attempt
