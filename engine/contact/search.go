package contact

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dialler/engine"
)

// Limits of a search.
const (
	SearchCap     = 100 // characters
	SearchWordCap = 6   // words
	// SearchPart is from how many characters on a word is found within others; a shorter one is found as a
	// whole word.
	SearchPart = 3
	// SearchedCap is how many contacts of a list a search may find.
	SearchedCap = 5000
)

// ErrSearchBroad refuses a search of a list that finds more than SearchedCap contacts.
var ErrSearchBroad = engine.Invalid("search_too_broad", "more than 5,000 contacts match; type more, such as a whole "+
	"name or number")

// Search is what contacts are searched for: all its words, in their numbers and the values of their
// variables, or its number. Case and the marks of letters are left to the store.
type Search struct {
	Words  []string // a short one between blanks
	Digits string   // of a text that is a number as people write it; else ""
}

var (
	errSearchShort = engine.Invalid("search_too_short", "type three characters of a number or a name, or a whole word "+
		"of two, such as 9999, zoe or Z-777")
	errSearchLong = engine.Invalid("search_too_long", "a search has at most 6 words and 100 characters, such as zoe 9999")
)

// ParseSearch reads what somebody types. It returns Invalid "search_too_short" or "search_too_long".
func ParseSearch(typed string) (s Search, err error) {
	if !utf8.ValidString(typed) || utf8.RuneCountInString(typed) > SearchCap {
		return s, errSearchLong
	}
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, typed)
	enough := false
	for word := range strings.FieldsSeq(clean) {
		n := utf8.RuneCountInString(word)
		enough = enough || n >= SearchPart-1
		if n < SearchPart {
			word = " " + word + " "
		}
		if !slices.Contains(s.Words, word) {
			s.Words = append(s.Words, word)
		}
	}
	if len(s.Words) > SearchWordCap {
		return Search{}, errSearchLong
	}
	// The longest goes first: the store looks for it before the others.
	slices.SortStableFunc(s.Words, func(a, b string) int {
		return len(strings.TrimSpace(b)) - len(strings.TrimSpace(a))
	})
	s.Digits = dialled(clean)
	if !enough && s.Digits == "" {
		return Search{}, errSearchShort
	}
	if len(s.Words) == 1 && s.Digits == s.Words[0] {
		s.Digits = "" // it says the same
	}
	return s, nil
}

// dialled is the digits of a number, or of a part of one, as people write it: 0151 / 123-45, +49 (0) 151.
// The zeros that precede it in its country, or before the country's code, are left out. It is "" for
// another text, and for less than three digits.
func dialled(text string) string {
	text = strings.Replace(text, "(0)", "", 1)
	var digits []byte
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c)
		case c == '+' && len(digits) == 0, c == ' ', c == '-', c == '/', c == '.', c == '(', c == ')':
		default:
			return ""
		}
	}
	if left := strings.TrimLeft(string(digits), "0"); len(left) >= SearchPart {
		return left
	}
	return ""
}
