// Package media carries the audio of calls.
package media
