// Package fleet contains the actor that owns the seats of the voice bots and monitors their
// endpoints. Its decisions are in engine/fleet.
package fleet
