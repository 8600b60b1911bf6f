// Package dialout contains the actors of the calls outside campaigns: one that admits them and one
// for each call. Their decisions are in engine/dialout and engine/call.
package dialout
