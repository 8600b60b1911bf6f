// Package trunk manages the carrier connections: their configuration, where each can be reached,
// whether it is alive (OPTIONS), its registration (REGISTER), and which requests are answered that
// come from its addresses.
//
// What it must not know: legs, dialogs, and which calls use a trunk. A Trunk is immutable: putting
// another configuration makes another trunk, and existing legs keep theirs.
package trunk
