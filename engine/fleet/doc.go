// Package fleet shares the seats of one bot among its users: campaigns, and dialout, which has a
// reserve.
//
// What it must not know: calls, pacing, how an endpoint is reached. A holder uses the seats it was
// granted as it sees fit and says how many it wants.
//
// Invariants:
//
//   - Nothing is granted beyond the seats; what is not granted is free: granted + free =
//     seats, less those of lost calls. After seats are taken away free is below 0 until
//     their holders have given them back.
//   - A grant ends unless it is renewed: seats of a holder that died come back.
//   - Targets are max-min fair by weight: nobody gets more than it wants, and
//     nobody who wants more has less, for its weight, than another, apart from
//     rounding to whole seats. The seat left over by rounding moves on every five
//     minutes, so that no campaign starves when campaigns outnumber seats.
//   - A grant grows at once, up to the target, when seats are free. It is never
//     cut without its holder's consent: the holder is told a lower target and
//     gives seats back as calls end, also when the bot has fewer of them: lines
//     in flight rely on theirs.
//   - The reserve is kept for dialout; dialout may also take its fair share
//     beyond it.
//   - A bot none of whose endpoints takes calls has no seats: nobody is dialled
//     with it. It is probed until it answers (Endpoints).
package fleet
