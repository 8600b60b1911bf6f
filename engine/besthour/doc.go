// Package besthour learns at which hours people answer: the chance that a person answers a dial, by
// country, weekday and hour where the number is at home. A campaign with the option Best hour orders
// by it who is dialled now (engine/run).
//
// A cell without much behind it is drawn to its parents: the hour of the country on any day, the
// country, everybody. A parent counts as Strength dials. What a person's own tries came to counts
// too: each that stayed unanswered in a part of the day makes that part less likely for them.
//
// Who is dialled first is not who is most likely to answer, but who gains most by being dialled now
// instead of at any other time: otherwise a country in which few answer would always be last.
//
// A tenth of the contacts, by a hash, is the control: it is dialled as without the option, and
// Compare says what the others gain.
//
// What it must not know: campaigns, queues, the store, the clock.
//
// Invariants:
//   - A chance is within 0…1. Of two tables that differ in one answer, the one with more answers has
//     the higher chance in that cell. A cell without dials has the chance of its parent.
//   - What Encode writes, Decode reads as the same table.
package besthour
