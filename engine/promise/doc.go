// Package promise judges a dialler by what happened, independently of its implementation: the
// simulator reports live, the lab reports what carrier, bot and database recorded of the real
// program. A Judge hears facts in chronological order and says which promise is broken.
//
// Each promise has a file, and a test with facts that break it and facts that just keep it:
//
//   - one_call.go: no number has two calls at once, no contact two attempts;
//   - kept_out.go: excluded or suppressed numbers are not dialled;
//   - rate.go: calls per second of a trunk, calls per hour and day of our numbers;
//   - room.go: channels of a trunk, concurrent calls of our numbers, seats, concurrency;
//   - abandons.go: abandons are never over the cap, and nobody is abandoned twice for lack
//     of a seat;
//   - durable.go: an INVITE leaves after its intent is durable, an ACK after its answer,
//     and every attempt ends once;
//   - used.go: nobody is called more often than the settings allow;
//   - running.go: nobody is dialled outside the window, while paused, or after the end;
//   - owners.go: an epoch has one owner, and nobody acts in one after a later one;
//   - books.go: rows and figures of a campaign agree, and a completed one is done.
//
// What it must not know: who decided, and why. It accepts no figure that it can count itself. It
// has no clock: a fact comes with its time.
package promise
