// Package callee models the people who are called: who answers, how soon, and how long they talk,
// by the laws of a Scenario. The simulators and the model carrier take their callees from it.
//
// Dial number i has a Fate that depends only on the seed, i and the time of the dial, so that all
// ways of dialling meet the same people. The only randomness is hashes of the seed.
package callee
