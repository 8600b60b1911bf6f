// Package forecast predicts how a campaign would proceed, and says how reliable such predictions
// are.
//
//   - Ask plays a Question some twenty times in the simulator (engine/sim), each time with other people, and returns
//     bands of the results, and the course of the median play;
//   - Course.BackTest asks, after a run, what would have been predicted during it, and compares that with what
//     happened; TrustIn summarises.
//
// It has no rules of its own: campaigns are played by the cores that dial them. It must not know
// the clock, the store, or who asks.
package forecast
