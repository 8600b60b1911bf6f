package engine

import "strings"

// SpreadsheetText keeps spreadsheets from taking what others wrote into a cell of a
// CSV file for a formula: an apostrophe goes before a text that begins like one
// (OWASP, CSV injection). Phone numbers and numbers are ours and need it not.
func SpreadsheetText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return "'" + s
	}
	return s
}
