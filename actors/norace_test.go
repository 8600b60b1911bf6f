//go:build !race

package actors_test

// floodEach is how many messages each sender of a flood has: 100,000 in all.
const floodEach = 100

// replayEach: the runs of one test in so many are replayed.
const replayEach = 1
