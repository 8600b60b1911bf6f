// Package trunk holds the rules of a carrier connection: calls per second (CPS), channels, health,
// throttling, and the choice among several.
//
// What it must not know: SIP, sockets, attempts beyond the name of a leg. The meaning of a final
// response comes from engine/disposition.
//
// Invariants:
//
//   - In no second (half-open, anywhere) are more legs granted than the CPS cap.
//     The bucket lets a late caller catch up by at most 20 ms and pays for that
//     with a rate 2 % under the cap. A restart forgets the last grants, so a
//     trunk begins as if one had been made at that moment.
//   - In no second do more INVITEs leave than the cap, however long after its grant
//     each of them does: a token is granted again once it is known when the INVITE
//     left that used it before (Sent), and the next one may leave a second after
//     that (From). After a reset of the count (Recount) nothing leaves for a second;
//     the start of a process takes longer than that. The far side may see more or
//     less, by as much as the network delays one INVITE more than another.
//   - A leg that would have a token within a second waits for the trunk that was
//     chosen for it, unless the trunk has been at its rate for a second (Short).
//   - Channels in use are the live leases, one per leg, and never above the cap.
//   - A trunk that is inactive, down, held or broken grants nothing, except the
//     single trial call by which a broken or held one recovers. One that is unproven
//     grants one call at a time.
//
// Decisions where the specification is silent:
//
//   - The breaker opens after five failures in a row that concern the trunk
//     itself (silence, nothing could be sent) or twenty refusals in a row by the
//     network behind it; any ringing, answer or refusal by a callee closes it. It
//     tries again after 10 s, doubling up to 5 min.
//   - Refused credentials hold the trunk at once, for 1 min, doubling up to
//     15 min; editing the trunk ends the hold.
//   - 403s hold it when they are at least half of its last twenty results, both
//     with and without the caller ID that is refused most, and concern at least five
//     destinations. Refusals of a single caller ID are a matter for its strikes.
//   - A throttled trunk halves its rate, once a second at most and never below
//     one sixteenth of the cap, and from 5 s on regains it within a minute. A
//     Retry-After stops it for a minute at most; editing the trunk ends that.
//   - A trunk is unproven until a sign of life (engine.TrunkSigns): a response to
//     OPTIONS, REGISTER or an INVITE, or a conversation that goes on. The breaker
//     opens at once when nothing answers its trial call. Once it has answered
//     OPTIONS, their silence is down: it gets no trial calls, because silence costs
//     a person one of their attempts and the next OPTIONS costs nobody anything.
package trunk
