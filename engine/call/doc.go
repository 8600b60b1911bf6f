// Package call is one call from its reservation to its end, and the contact or dialout that owns
// it: the attempt machine, what waits to become durable, the send-by window of the INVITE, the legs
// watched after a loss, the hold of the number, and the resulting writes. Contact and dialout
// differ only in their policy.
//
// It must not know actors, clocks, stores or the carrier: events come in as an Input, effects go
// out, and the same code runs in production and in the simulator.
//
// What a shell does:
//
//   - It gives Apply one event at a time and carries out the effects in order.
//     A few are answered at once (see Effect): the shell applies that answer, and
//     carries out the resulting effects, before it continues with the others.
//   - A Persist is answered with Durable whenever its fate becomes known. The write
//     belongs to the store from then on; only a Report sends it again.
//   - Timers come back as TimerFired. They carry the attempt and an epoch, so that one
//     that fires too late is dropped.
//   - After each event of a contact it takes what Next gives, one by one.
//   - An owner is stopped only by Stopped or DialoutOver. An owner whose shell
//     crashed continues with Restarted.
//
// Invariants: no INVITE is placed before its intent is durable, none after the end of its attempt;
// no ACK is sent before the answer is durable; every attempt ends once, and gives its number and
// its trunk back once; every request is answered once; a contact that says it is idle has nothing
// in progress.
package call
