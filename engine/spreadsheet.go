package engine

import "strings"

// SpreadsheetText stops spreadsheets from taking foreign text in a cell of a CSV file for a
// formula: an apostrophe is put before a text that begins like one (OWASP, CSV injection). Phone
// numbers and numbers are our own and do not need it.
func SpreadsheetText(s string) string {
	if StartsFormula(s) {
		return "'" + s
	}
	return s
}

// StartsFormula says whether spreadsheets take a cell for a formula.
func StartsFormula(s string) bool {
	return s != "" && strings.IndexByte("=+-@\t\r\n", s[0]) >= 0
}
