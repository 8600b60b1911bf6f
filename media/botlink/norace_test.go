//go:build !race

package botlink

const raceEnabled = false
