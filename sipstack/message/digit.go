package message

import (
	"strings"

	"github.com/emiago/sipgo/sip"
)

// InfoDigit reads a digit from an INFO body: application/dtmf-relay
// ("Signal=5") or application/dtmf ("5"); 0 when there is none.
func InfoDigit(r *sip.Request) byte {
	body := strings.TrimSpace(string(r.Body()))
	switch ct := contentType(r); {
	case strings.HasPrefix(ct, "application/dtmf-relay"):
		for line := range strings.Lines(body) {
			name, value, _ := strings.Cut(line, "=")
			if strings.EqualFold(strings.TrimSpace(name), "Signal") {
				return Digit(strings.TrimSpace(value))
			}
		}
	case strings.HasPrefix(ct, "application/dtmf"):
		return Digit(body)
	}
	return 0
}

// Digit returns one of 0-9*#A-D, or 0 when the text is none of them; some gateways send 10 and 11
// for star and pound.
func Digit(s string) byte {
	switch s {
	case "10":
		return '*'
	case "11":
		return '#'
	}
	if len(s) == 1 && strings.Contains("0123456789*#ABCD", strings.ToUpper(s)) {
		return strings.ToUpper(s)[0]
	}
	return 0
}
