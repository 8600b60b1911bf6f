// Package amd serves the verdicts of answer classification that people review, and the messages
// left on machines.
package amd
