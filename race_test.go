//go:build race

package main

// raceEnabled: reading a phone number takes twenty times as long.
const raceEnabled = true
