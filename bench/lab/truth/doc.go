// Package truth asks the shipped program whether the rules that operators, regulators and CRMs rely on hold: over its
// API, and from the side of the carrier, the bot and the receiver of its webhooks, none of which shares code with it.
//
// Every rule is a row of its own with people, numbers and campaigns of its own, so that the rows run beside each
// other on one installation. Those that break the carrier or the bot have an installation of theirs.
package truth
