// Package promise judges a dialler by what happened, whatever dialled: the simulator
// tells it live, the lab tells it what carrier, bot and database noted of the real
// program. A Judge hears facts in the order of time and says which promise is broken.
//
// Each promise has a file, and a test with facts that break it and facts that just keep it:
//
//   - one_call.go: no number has two calls at once, no contact two attempts;
//   - kept_out.go: who is excluded or suppressed is not dialled;
//   - rate.go: calls a second of a trunk, calls an hour and a day of our numbers;
//   - room.go: channels of a trunk, concurrent calls of our numbers, seats, concurrency;
//   - abandons.go: abandons are never over the cap, and nobody is abandoned twice for want
//     of a seat;
//   - durable.go: an INVITE leaves after its intent is durable, an ACK after its answer,
//     and every attempt ends once;
//   - used.go: nobody is called more often than the settings say;
//   - running.go: nobody is dialled outside the window, while paused, or after the end;
//   - owners.go: an epoch has one owner, and nobody acts in one after a later one;
//   - books.go: rows and figures of a campaign agree, and one that is completed is done.
//
// What it must not know: who decided and why. It takes nobody's word for a figure that
// it can count itself. It has no clock: a fact comes with its time.
package promise
