// Package fleet has the actor that owns the seats of the voice bots and looks after their
// endpoints. What it decides stands in engine/fleet.
package fleet
