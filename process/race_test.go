//go:build race

package process

// raceEnabled matters because reading a phone number takes twenty times as long with it.
const raceEnabled = true
