// Package forecast says what would become of a campaign, and how far such answers can be believed.
//
//   - Ask plays a Question some twenty times in the simulator (engine/sim), each time with other people, and gives
//     bands of what came, and the course of the play in the middle;
//   - Course.BackTest asks, when a run is over, what would have been said in its course, and sets beside it what
//     happened; TrustIn sums up.
//
// It has no rule of its own: campaigns are played by the cores that dial them. It must not know the clock, the
// store, or who asks.
package forecast
