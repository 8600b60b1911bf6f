// Package dialout has the actors of the calls outside campaigns: one that admits them and
// one for each call. What they decide stands in engine/dialout and engine/call.
package dialout
