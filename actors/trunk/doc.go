// Package trunk has the actors of the SIP trunks: one for each trunk, which alone knows its
// calls a second, channels and health, and one that passes reservations to them. What they
// decide stands in engine/trunk.
package trunk
