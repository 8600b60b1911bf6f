// Package trunk keeps the carrier connections: their configuration, where each
// is reached, whether it lives (OPTIONS), its registration (REGISTER), and who
// may ask us something from its addresses.
//
// What it must not know: legs, dialogs, and which calls go over a trunk. A
// trunk does not change: putting another configuration makes another trunk,
// and legs keep theirs.
package trunk
