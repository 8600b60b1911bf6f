package http

import (
	"dialler/engine"
)

// phone reads a phone number in international format.
func (f form) phone(field string, need bool) engine.PhoneNumber {
	v := f.find(field)
	if v == nil {
		if need {
			f.fail(field, "required", "is required")
		}
		return ""
	}
	if v.kind != jsonString {
		f.wrongType(field, jsonString, v.kind)
		return ""
	}
	n, ok := parsePhone(v.text)
	if !ok {
		f.fail(field, "invalid_number", "must be a phone number in international format with a leading plus, for example +4915112345678")
		return ""
	}
	return n
}

func parsePhone(s string) (engine.PhoneNumber, bool) {
	if len(s) < 8 || len(s) > 16 || s[0] != '+' || s[1] == '0' {
		return "", false
	}
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	return engine.PhoneNumber(s), true
}
