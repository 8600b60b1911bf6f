// Package contactlist reads a list of contacts from a CSV file (RFC 4180), row
// by row and in bounded memory: what a row means, and what is wrong with one
// that cannot become a contact.
//
// What it must not know: where the bytes come from, databases, and whether a
// number is in the campaign already or excluded from it: that is decided when
// the list is activated.
//
// Invariants:
//
//   - Every record that is not blank is a row: a good one or one with a reason.
//     Nothing is dropped silently; a file whose rows cannot be told apart is
//     refused as a whole.
//   - Memory does not grow with the file: a record has at most RecordCap bytes.
//   - An error of the source comes back as it is.
//
// Decisions:
//
//   - UTF-8, with or without a byte order mark. The delimiter is the comma,
//     semicolon or tab that the first line has most of; a comma when it has
//     none.
//   - One column is phone_number, in any case and with spaces around. Every
//     other column is a variable under its trimmed name; its cells are kept as
//     they are, an empty or missing one as "". Columns without a name at the
//     end of the first line (spreadsheets leave them) hold nothing.
//   - A mapping renames columns, or leaves them out, before anything else is
//     made of their names. It must name columns that the file has.
//   - Numbers are read as number.ParseLoose reads them without a default
//     region: E.164, with separators, or 00 in place of the plus.
//   - A line of blanks and delimiters is no row.
//   - A record that is broken within its line is a row with a reason. One that
//     breaks after several lines, or never ends, is most likely a quotation
//     mark too many: which lines it swallowed is not known, so the file is
//     refused and the line is named.
package contactlist
