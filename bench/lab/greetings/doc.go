// Package greetings synthesises recordings of answered calls: people who answer, machines, carriers
// and call screening, in many languages and voices, with the speech synthesisers of Debian
// (espeak-ng, flite, festival). Answer classification is trained on them. Sounds writes what is
// said in them, sound by sound.
//
// # What it must not know
//
// How calls are classified.
//
// # Invariants
//
//   - The same seed and synthesisers give the same files.
//   - Whatever a synthesiser cannot say is left out and counted.
package greetings
