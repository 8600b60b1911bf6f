// Package amd serves the verdicts of answer classification that people are asked about,
// and the messages that are left on machines.
package amd
