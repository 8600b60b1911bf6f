// Package cadence decides when a contact is dialled again by what its attempts came to: a table with
// steps for each class of outcomes, in place of one Retry Delay.
//
//	busy: 5m, 15m, 1h · no_answer: 3h, another part of the day, next day, at most 4 · at most 3 a day
//
// The first attempt that ends busy is followed after 5 minutes, the second after 15; the last step
// holds for those after it. A class that is not in the table keeps the Retry Delay.
//
// What it must not know: contacts, campaigns, callbacks, which outcomes are redialled at all
// (engine/redial), the clock.
//
// Invariants:
//   - Next is never before the end of the attempt, and always at a time when the window is open, if
//     it ever opens.
//   - Allowed is never on a calling day that has the most attempts already. A calling day is that of
//     the window (window.CallingDay), by the contact's clock where the window is.
//   - What Parse accepts is printed in one form, which Parse accepts as the same table.
package cadence
