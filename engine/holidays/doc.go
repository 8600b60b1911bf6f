// Package holidays knows the holidays of countries and reads files of holidays (RFC 5545).
//
// What it must not know: calendars that use them, where files come from, the clock: the time over
// which holidays are wanted comes in.
//
// Decisions:
//
//   - The built-in sets are those of rickar/cal, by ISO 3166 code of the country or region, over the
//     years FirstYear to LastYear. A holiday that is observed on another day counts on both.
//   - Of a file's events only the dates count: an event with times closes the whole of its days, as the
//     file writes them, in whatever zone.
//   - Recurrences are yearly (with COUNT, UNTIL, INTERVAL and the BY parts): others are refused, because
//     no holiday needs them and a file could list every second of a century.
package holidays
