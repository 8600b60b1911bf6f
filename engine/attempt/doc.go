// Package attempt is the state machine of one dial of a contact, from the reserved leases to the
// end of its last SIP leg.
//
// It decides what is placed, cancelled, hung up, recorded and given back; the contact actor carries
// out its effects. It must not know the clock (time comes in with the event), SIP messages,
// sockets, or what the end means for the contact (package contact decides that from Over).
//
// Invariants: nothing but the transition table assigns the state; every attempt reaches Ended
// exactly once, emits Over exactly once and gives back its seat, trunk channels and number slot
// exactly once; the INVITE effect (Dial) and the ACK effect (Confirm) are gated: they are carried
// out only after everything recorded in the same step is durable; an ended attempt never dials.
//
// Decisions where the specification is silent:
//
//   - A live answer that our side ends before a bot has it is an abandon with
//     cause capacity_loss, even when an operator asked for it: no unserved
//     person is left out of the abandon rate.
//   - A bot that hangs up while classification still listens has served the
//     call; the verdict is then unknown.
//   - Audio heard after the bot was connected (a beep, a monologue, a fax, SIT)
//     revokes the live answer: ServedAt is empty again, the outcome is that of
//     the later verdict. A bot that has given its result, or hands the callee over,
//     is left alone. Until no audio can revise it the answer is tentative, and the
//     abandon rate does not count it.
//   - The bot may revise a verdict at any time of the conversation, once: the call
//     is torn down as what the bot says. An answer that was already counted stays
//     counted (ServedAt), so that only final facts change the abandon rate; its
//     contact is treated as a machine all the same. Without classification there is
//     no verdict to revise, and the bot's statement is ignored.
//   - A refusal that crosses the CANCEL of a ring timeout decides the outcome; one
//     that crosses a Stop or an exclusion is noted, but the rule names the outcome.
//   - Whether an attempt is consumed is decided leg by leg: one leg that counts
//     is enough. An answered attempt always is.
//   - A 200 that crossed our CANCEL does not make the attempt answered.
//   - Times are never changed once set: copies of an attempt may share them.
//
// An attempt is over when its last leg is: after a decision to end (Ending) the seat is given back
// at once, the channel, slot and number only with the leg's last event, so that two calls to one
// number can never overlap.
package attempt
