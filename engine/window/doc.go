// Package window says when a campaign may call: a daily calling window in a time zone, on working
// days, except holidays, and within calendars.
//
// What it must not know: campaigns, contacts, the clock (instants come in). A contact's zones come
// from engine/number.
//
// Invariants:
//
//   - The wall clock decides: an instant is open if and only if a clock on the wall
//     in the zone shows a time in the half-open [start, end) of a day that is a
//     working day and no holiday. So nobody is ever called when their clock says
//     that it is too early or too late, whatever daylight saving time does: a
//     start that the clock skips opens when the clock has jumped past it; a time
//     that the clock shows twice is open, or closed, both times.
//   - A window whose end is before its start crosses midnight and belongs, with
//     its working day and holiday, to the day it opened.
//   - Equal start and end is the whole calendar day, midnight to midnight.
//   - A zone that the time zone database does not know never opens; Validate
//     refuses it, and an empty zone and "Local" too: a guess would call people
//     at night.
//   - Calendars only narrow a window: it is open when each of them is, too. The wall clock decides for
//     them as for the window; each day's hours belong to the day on which they begin; an exception of a
//     date takes the place of its weekday's hours and of a holiday.
//   - For several zones (a number that belongs to more than one) the window is
//     open when it is open in all of them.
//
// time.LoadLocation needs zone data: the process embeds it (time/tzdata).
package window
