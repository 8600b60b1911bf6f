package contact

import (
	"slices"
	"strings"
	"testing"

	"dialler/engine"
)

func TestASearchHasWordsOrANumber(t *testing.T) {
	f := func(typed, words, digits string) {
		t.Helper()
		s, err := ParseSearch(typed)
		if err != nil || strings.Join(s.Words, "|") != words || s.Digits != digits {
			t.Errorf("%q: %q %q %v, want %q %q", typed, s.Words, s.Digits, err, words, digits)
		}
	}
	f("zoe", "zoe", "")
	f(" Zoe  Li ", "Zoe| Li ", "")
	f("a berlin", "berlin| a ", "")
	f("9999", "9999", "")
	f("Z-777", "Z-777", "")
	f("0151 123-45", "123-45|0151", "15112345")
	f("+49 (0) 151 / 1234567", "1234567|+49|(0)|151| / ", "491511234567")
	f("0049151", "0049151", "49151")
	f("+4915112345678", "+4915112345678", "4915112345678")
	f("zoe zoe", "zoe", "")
	f("zoe\x00\tberlin", "berlin|zoe", "")
	f("Жо", " Жо ", "")
	f("000", "000", "")

	wrong := func(typed, code string) {
		t.Helper()
		if s, err := ParseSearch(typed); engine.ErrorCode(err) != code || s.Words != nil {
			t.Errorf("%q: %v %v, want %s", typed, s, err, code)
		}
	}
	wrong("", "search_too_short")
	wrong(" \t", "search_too_short")
	wrong("z", "search_too_short")
	wrong("z 1", "search_too_short")
	wrong("é", "search_too_short")
	wrong(strings.Repeat("é", 101), "search_too_long")
	wrong("one two three four five six seven", "search_too_long")
	wrong("zoe\xff", "search_too_long")
	long := strings.Repeat("é", 100)
	if s, err := ParseSearch(long); err != nil || !slices.Contains(s.Words, long) {
		t.Error(err)
	}
}

func FuzzASearchIsBounded(f *testing.F) {
	f.Add("0151 / 123")
	f.Add("zoe Z-777")
	f.Fuzz(func(t *testing.T, typed string) {
		s, err := ParseSearch(typed)
		if err != nil {
			return
		}
		if len(s.Words) == 0 || len(s.Words) > SearchWordCap || strings.Trim(s.Digits, "0123456789") != "" {
			t.Errorf("%q: %+v", typed, s)
		}
	})
}
