// Package number parses telephone numbers: strictly as E.164 from interfaces, loosely from files;
// and determines where a number is at home. It is the only package that uses
// github.com/nyaruka/phonenumbers.
//
// What it must not know: which destinations an installation allows, number pools, windows. It gives
// them the facts.
//
// Invariants:
//
//   - An accepted number is a plus and 7 to 15 digits, in the canonical
//     form of its country, so that one person is one string.
//   - Premium-rate, emergency and short numbers are refused, always: the dialler
//     never calls them (SEMANTICS §10).
//   - Every function gives the same answer for the same input; the error never
//     contains the number (it is personal data).
//
// A number needs to be possible (its country exists and has numbers of that length), not assigned:
// assignment data always lag behind the carriers, and numbers reserved for fiction, such as +49 30
// 23125 000 or +1 212 555 0100, must work for trials. Carriers answer 404 for numbers that do not
// exist. An unassigned number that begins like a premium-rate or emergency number is still refused.
//
// Cost: a lookup takes some microseconds, all of it in regular expressions of the library; nothing
// is cached here. Describe reads everything about a number at once: callers that need more than one
// fact should keep its result.
package number
