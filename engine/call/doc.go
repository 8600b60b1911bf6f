// Package call is one call from its reservation to its end, and the contact or
// dialout that it belongs to: the attempt machine, what waits until it is durable,
// the send-by window of the INVITE, the legs that are watched after a loss, the hold
// of the number, and the writes that come of it. Contact and dialout differ only in
// their policy.
//
// It must not know actors, clocks, stores or the carrier: what happens comes in as
// an Input, what is to be done goes out as effects, and the same code runs in
// production and in the simulator.
//
// What a shell does:
//
//   - It gives Apply one event at a time and carries out the effects in their order.
//     A few are answered at once (see Effect): the shell applies that answer, and
//     carries out what it brings, before it goes on with the effects that follow.
//   - A Persist is answered with Durable, once for each time its fate is known. Its
//     write belongs to the store from then on; only a Report sends it again.
//   - Timers come back as TimerFired. They carry the attempt and an epoch, so that one
//     that fires too late is dropped.
//   - After each event of a contact it takes what Next gives, one by one.
//   - An owner is stopped by Stopped or DialoutOver, never otherwise. One whose shell
//     crashed goes on with Restarted.
//
// Invariants: no INVITE is placed before its intent is durable, none after the end of
// its attempt; no ACK is sent before the answer is durable; every attempt ends once,
// and gives its number and its trunk back once; every request is answered once; a
// contact that says it is idle has nothing under way.
package call
