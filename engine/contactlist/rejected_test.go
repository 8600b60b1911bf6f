package contactlist

import (
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"dialler/engine/campaign"
)

// read reads a list of contacts to its end.
func read(t interface{ Fatal(...any) }, file string, f Format) (rows []Row, l campaign.FileLayout) {
	r := NewMappedReader(strings.NewReader(file), f, time.Unix(1e9, 0))
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, r.Layout()
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
}

func TestARowIsKeptAsItStandsInTheFile(t *testing.T) {
	const file = "\n\nphone_number;note\r\n\r\n+4915112345678;\"a;b\r\nc\"\r\n0151 1;a\"b\r\n ; \r\n\n+4915112345679"
	want := []string{"+4915112345678;\"a;b\r\nc\"", "0151 1;a\"b", "+4915112345679"}
	for _, in := range []io.Reader{strings.NewReader(file), iotest.OneByteReader(strings.NewReader(file))} {
		r := NewReader(in)
		for _, w := range want {
			if row, err := r.Next(); err != nil || row.Record != w {
				t.Errorf("%q, want %q; %v", row.Record, w, err)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if got, want := r.Layout(), (campaign.FileLayout{Encoding: "utf-8", Delimiter: "semicolon",
			Header: "phone_number;note"}); got != want {
			t.Errorf("%+v", got)
		}
	}
}

func TestADelimiterThatIsSaidPrevailsOverThoseOfTheFirstLine(t *testing.T) {
	rows, l := read(t, "phone_number|a,b,c,d\n+4915112345678|x\n", Format{Delimiter: "pipe"})
	if l.Delimiter != "pipe" || len(rows) != 1 || rows[0].Variables["a,b,c,d"] != "x" {
		t.Errorf("%+v %+v", rows, l)
	}
}

func TestANationalNumberWithoutACountryIsToldToChooseOne(t *testing.T) {
	rows, _ := read(t, "phone_number\n0151 23456789\n(030) 901820\n004930901820\n", Format{})
	if other, _ := read(t, "phone_number\nunknown\n+49 1\n", Format{}); strings.Contains(other[0].Message+other[1].Message,
		"choose") {
		t.Errorf("a country would not help, and is asked for: %+v", other)
	}
	for _, r := range rows[:2] {
		if r.Reason != "invalid_number" || !strings.Contains(r.Message, "choose the country") {
			t.Errorf("%+v", r)
		}
	}
	if rows[2].Number != "+4930901820" {
		t.Errorf("%+v", rows[2])
	}
	rows, _ = read(t, "phone_number\n0151 23456789\n(030) 901820\n004930901820\n", Format{Country: "DE"})
	if rows[0].Number != "+4915123456789" || rows[1].Number != "+4930901820" || rows[2].Number != "+4930901820" {
		t.Errorf("%+v", rows)
	}
}

func TestDigitsAloneThatMayBeTwoNumbersAreRefusedWithWhatToWrite(t *testing.T) {
	const file = "phone_number,phone_number_2\n4915123456789\n4930901820\n+4930901821,33612345678\n"
	rows, _ := read(t, file, Format{Country: "DE"})
	if r := rows[0]; r.Reason != "invalid_number" || r.Number != "" || !strings.Contains(r.Message, "write the plus") {
		t.Errorf("%+v", r)
	}
	if rows[1].Number != "+4930901820" || rows[2].Reason != NumbersInvalid {
		t.Errorf("%+v", rows[1:])
	}
}

// file writes a file of rejected rows, as it is downloaded.
func rejectedFile(t interface{ Fatal(...any) }, l campaign.FileLayout, rows []Row) string {
	out, columns, ok := NewRejected(l)
	if !ok {
		t.Fatal("the layout is not known")
	}
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Comma = out.Comma
	_ = w.Write(columns)
	for i := range rows {
		_ = w.Write(out.Row(&campaign.RejectedRow{Line: rows[i].Line, Message: "no", Record: rows[i].Record}))
	}
	w.Flush()
	return b.String()
}

// What is downloaded, corrected nowhere, is read as the same rows as before, and so is what is downloaded of those.
func TestAFileOfRejectedRowsIsReadAsTheOriginalWas(t *testing.T) {
	cell := rapid.OneOf(rapid.SampledFrom([]string{"", "+4915112345678", "0151 23456789", "=1+1", "'=1", "''", "'", "-5",
		"a;b", "a,b|c\td", "\"quoted\"", "two\nlines", "\tx", "@x", " ", "Jürgen", "'+49"}),
		rapid.StringMatching(`[=+'@ a-c;,|"-]{0,6}`))
	rapid.Check(t, func(t *rapid.T) {
		l := campaign.FileLayout{Delimiter: rapid.SampledFrom(Delimiters()).Draw(t, "delimiter")}
		f := Format{Country: "DE", Delimiter: l.Delimiter}
		var b strings.Builder
		w := csv.NewWriter(&b)
		w.Comma = delimiters[l.Delimiter]
		_ = w.Write([]string{"Name", "phone_number", "=Note; and, more"})
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			_ = w.Write(rapid.SliceOfN(cell, 1, 4).Draw(t, "cells"))
		}
		w.Flush()
		first, l := read(t, b.String(), f)
		again, l2 := read(t, rejectedFile(t, l, first), f)
		third, _ := read(t, rejectedFile(t, l2, again), f)
		for _, rows := range [][]Row{first, again, third} {
			for i := range rows {
				rows[i].Record, rows[i].Line = "", 0
			}
		}
		if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(first, third) {
			t.Fatalf("%s:\n%+v\n%+v\n%+v", b.String(), first, again, third)
		}
	})
}

// Sent back as they are, rows are refused again, or their cells stay where they were.
func TestARowWithACharacterThatCannotBeReadIsRefusedUntilItIsCorrected(t *testing.T) {
	const file = "phone_number;Straße\n+4915112345678;M\xfcller\n+4915112345679;a\x00b\n+4915112345670;\"Ada\" Lovelace\n"
	rows, l := read(t, file, Format{})
	if rows[0].Reason != VariablesInvalid || rows[1].Reason != VariablesInvalid || rows[2].Reason != MalformedRow {
		t.Fatalf("%+v", rows)
	}
	again := rejectedFile(t, l, rows)
	back, _ := read(t, again, Format{})
	if back[0].Reason != VariablesInvalid || !strings.Contains(back[0].Message, "Straße") ||
		back[1].Reason != VariablesInvalid || back[2].Variables["Straße"] != `"Ada" Lovelace` {
		t.Errorf("%+v", back)
	}
	corrected := strings.NewReplacer("M\uFFFDller", "Müller", "a\uFFFDb", "ab").Replace(again)
	back, _ = read(t, corrected, Format{})
	if back[0].Variables["Straße"] != "Müller" || back[1].Variables["Straße"] != "ab" {
		t.Errorf("%+v", back)
	}
}

func TestWhatTheMappingLeavesOutIsNotKept(t *testing.T) {
	f := Format{Delimiter: "semicolon", Mapping: map[string]string{"Salary": "", "Phone": PhoneColumn}}
	rows, l := read(t, "Phone;Salary;Name\n12;50000;\"Ada;B\"\n13;50000\n14;50000;a\"b\n;50000;\n", f)
	for i, want := range []string{`12;;"Ada;B"`, "13;", `14;;"a""b"`, ";;"} {
		if rows[i].Record != want {
			t.Errorf("%q, want %q", rows[i].Record, want)
		}
	}
	back, _ := read(t, rejectedFile(t, l, rows[:3]), f)
	if len(back) != 3 || back[2].Given != "14" {
		t.Errorf("%+v", back)
	}
}

func TestARejectedRowKeepsAllOfItsCells(t *testing.T) {
	out, columns, ok := NewRejected(campaign.FileLayout{Delimiter: "semicolon", Header: "Telefon;Name"})
	if !ok || !reflect.DeepEqual(columns, []string{"rejected_line", "rejected_because", "Telefon", "Name"}) {
		t.Fatal(columns, ok)
	}
	for record, want := range map[string][]string{
		"0151;Ada":          {"7", "no", "0151", "Ada"},
		"0151":              {"7", "no", "0151", ""},
		"0151;Ada;too;many": {"7", "no", "0151", "Ada", "too", "many"},
		`0151;a"b`:          {"7", "no", "0151", `a"b`},
		`0151;"a"b`:         {"7", "no", "0151", `"a"b`},
		`0151;"Ada" L;Town`: {"7", "no", "0151", `"Ada" L`, "Town"},
		`"Ada" L;0151`:      {"7", "no", `"Ada" L`, "0151"},
		"":                  {"7", "no", "", ""},
		"=cmd();@x":         {"7", "no", "'=cmd()", "'@x"},
		"+491511;-1":        {"7", "no", "+491511", "'-1"},
	} {
		if got := out.Row(&campaign.RejectedRow{Line: 7, Message: "no", Record: record}); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", record, got, want)
		}
	}
	for _, l := range []campaign.FileLayout{{}, {Delimiter: "comma"}, {Header: "a,b"}} {
		if _, _, ok := NewRejected(l); ok {
			t.Errorf("%+v is a layout", l)
		}
	}
}
