// Package contactlist reads a list of contacts from a CSV file (RFC 4180), row by row and in
// bounded memory: what a row means, and what is wrong with a row that cannot become a contact.
//
// What it must not know: where the bytes come from, databases, and whether a number is already in
// the campaign or excluded from it: that is decided when the list is activated.
//
// Invariants:
//
//   - Every record that is not blank is a row: a good one or one with a reason.
//     Nothing is dropped silently; a file whose rows cannot be told apart is
//     refused as a whole.
//   - Memory does not grow with the file: a record has at most RecordCap bytes.
//   - An error of the source is returned unchanged.
//
// Decisions:
//
//   - UTF-8 and UTF-16 with or without a byte order mark, and Windows-1252 are found; others are read when they are
//     said (encoding.go). The delimiter is the comma, semicolon, tab or pipe that is most frequent in the first line,
//     unless it is said; a comma when it has none.
//   - One column is phone_number, in any case and with spaces around. not_before,
//     expires_at and priority say when the contact may be called; an empty cell
//     says nothing, a wrong one makes the row invalid. Every
//     other column is a variable under its trimmed name; its cells are kept
//     unchanged, an empty or missing one as "". Columns without a name at the
//     end of the first line (spreadsheets leave them) are ignored.
//   - A mapping renames columns, or leaves them out, before their names are
//     interpreted. It must name columns that the file has.
//   - Numbers are parsed as by number.ParseLoose: E.164, with separators, or 00 in place of the plus;
//     national ones where the file's country is given. Digits alone that may be a national number as well as an
//     international one are refused: a wrong person called is worse than a row to correct.
//   - A line of blanks and delimiters is no row.
//   - A record that is broken within its line is a row with a reason. One that
//     breaks after several lines, or never ends, most likely has a quotation
//     mark too many: which lines it swallowed is not known, so the file is
//     refused and the line is named.
//   - Rejected rows can be written in the file's own layout behind two columns that say why. They are told from
//     the others by their names, and are left out, when such a file is read (rejected.go).
package contactlist
