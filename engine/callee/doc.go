// Package callee is the model of those who are called: who answers, how soon, and
// how long they talk, by the laws of a Scenario. The simulators and the model carrier
// take their callees from it.
//
// Dial number i has a Fate that follows from the seed, i and the time of the dial
// alone, so that all ways of dialling meet the same people. There is no randomness
// but hashes of the seed.
package callee
