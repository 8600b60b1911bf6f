// Package trunk contains the actors of the SIP trunks: one for each trunk, which alone knows its
// calls per second, channels and health, and one that passes reservations to them. Their decisions
// are in engine/trunk.
package trunk
