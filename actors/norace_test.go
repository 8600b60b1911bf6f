//go:build !race

package actors_test

// floodEach is how many messages each sender of a flood sends: 100,000 in all.
const floodEach = 100

// replayEach makes the runs of one test in this many be replayed.
const replayEach = 1
