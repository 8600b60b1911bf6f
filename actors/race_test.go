//go:build race

package actors_test

// floodEach is smaller because the race detector makes each message ten times as expensive.
const floodEach = 4

// replayEach is larger because it also slows each replay.
const replayEach = 6
