//go:build race

package actors_test

// floodEach: the race detector makes each message ten times as dear.
const floodEach = 4

// replayEach: and each replay.
const replayEach = 6
