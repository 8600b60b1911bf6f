// Package truth checks whether the shipped program keeps the rules that operators, regulators and
// CRMs rely on: through its API, and from the side of the carrier, the bot and the receiver of its
// webhooks, none of which shares code with it.
//
// Every rule is a row with its own people, numbers and campaigns, so that the rows run in parallel
// on one installation. Those that break the carrier or the bot have an installation of their own.
package truth
