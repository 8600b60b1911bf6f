// Package calendar has the calendars of an installation: named opening hours with holidays, which
// campaigns share, and the hours that hold for calls to a country.
//
// What it must not know: campaigns, where calendars are stored and files fetched from, the clock.
// Whether a calendar is open, engine/window says.
//
// Decisions:
//
//   - A calendar only narrows a campaign's window. One that a campaign names and that does not exist
//     is never open: nobody is called at an hour that somebody forbade.
//   - The days of a file are read when it comes and then daily, over FileYears; runs have days, no rules.
package calendar
