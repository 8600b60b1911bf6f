// Package sim is a seeded world in which pacing and whole campaigns are tried
// on a virtual clock, at some thousand times the speed of a real one.
//
// Run tries a way of pacing: a list without end, workers, and callees who
// answer, or do not, by the laws of a Scenario. The pacing of the modes strict,
// hybrid and progressive is engine/pacing itself, fed as the run actor feeds
// it. Dial number i has an outcome that follows from the seed, i and the
// time of the dial alone, so that all ways of pacing meet the same people.
//
// RunCampaign tries the whole core: campaign, contact and attempt machines,
// pacing, windows, number pool, trunks and fleet, with faults, against the
// invariants of a dialler after every step.
//
// What it must not know: the real clock, files, sockets, actors. There is no
// randomness but hashes of the seed; the same input gives the same output, byte
// for byte.
package sim
