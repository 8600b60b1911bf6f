package engine

import "strings"

// SpreadsheetText stops spreadsheets from taking foreign text in a cell of a CSV file for a
// formula: an apostrophe is put before a text that begins like one (OWASP, CSV injection). Phone
// numbers and numbers are our own and do not need it.
func SpreadsheetText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}
