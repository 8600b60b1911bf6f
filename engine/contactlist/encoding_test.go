package contactlist

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

func wide(order binary.AppendByteOrder, text string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune("\uFEFF" + text)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

// A file is read alike in whatever pieces it comes.
func TestAFileIsReadInAnyUsualEncoding(t *testing.T) {
	const text = "phone_number;Straße;Preis\r\n+4930123456;Müller–Süd 🎉;5\u00a0€\r\n"
	plain := strings.ReplaceAll(text, " 🎉", "")
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"UTF-8":                    {[]byte(text), text},
		"UTF-8 with a mark":        {[]byte("\uFEFF" + text), "\uFEFF" + text},
		"UTF-16, little end first": {wide(binary.LittleEndian, text), text},
		"UTF-16, big end first":    {wide(binary.BigEndian, text), text},
		"Windows-1252": {[]byte(strings.NewReplacer("ß", "\xdf", "ü", "\xfc", "–", "\x96", "\u00a0", "\xa0", "€",
			"\x80").Replace(plain)), plain},
		"Windows-1252, late":          {[]byte(strings.Repeat("a", 9000) + "\xfc"), strings.Repeat("a", 9000) + "ü"},
		"Windows-1252, not assigned":  {[]byte("a\x81b"), "a\uFFFDb"},
		"UTF-8 with a fault":          {[]byte("ü\xfc;\xe4"), "ü\xfc;\xe4"},
		"UTF-8 with a mark and fault": {[]byte("\uFEFFa\xfc"), "\uFEFFa\xfc"},
		"UTF-16 without a mark":       {wide(binary.LittleEndian, text)[2:], text},
		"UTF-16 without one, big end": {wide(binary.BigEndian, text)[2:], text},
		"UTF-16 broken off":           {append(wide(binary.LittleEndian, "a"), 0x3c), "a\uFFFD"},
		"half a pair":                 {[]byte{0xfe, 0xff, 0xd8, 0x3c, 0, 'a'}, "\uFFFDa"},
		"nothing":                     {nil, ""},
		"one byte":                    {[]byte("a"), "a"},
		"one byte beyond":             {[]byte("\xfc"), "ü"},
	} {
		for way, from := range map[string]io.Reader{
			"at once": bytes.NewReader(c.file), "a byte at a time": iotest.OneByteReader(bytes.NewReader(c.file)),
			"the last with its end": iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(c.file)))} {
			if got, err := io.ReadAll(newDecoder(from, "")); err != nil || string(got) != c.want {
				t.Errorf("%s, %s: %.80q, want %.80q; %v", name, way, got, c.want, err)
			}
		}
	}
}

func TestAFileIsReadInTheEncodingThatIsSaid(t *testing.T) {
	for encoding, c := range map[string]struct{ file, want string }{
		"utf-8":        {"a\x00\x00b\xfc", "a\x00\x00b\xfc"},
		"utf-16le":     {"a\x00\xfc\x00", "aü"},
		"utf-16be":     {"\xfe\xff\x00\xfc", "\uFEFFü"},
		"windows-1252": {"Stra\xdfe, 5 \x80", "Straße, 5 €"},
		"iso-8859-1":   {"M\xfcller", "Müller"},
		"iso-8859-2":   {"\xa3\xf3d\xbc", "Łódź"},
		"iso-8859-15":  {"5 \xa4", "5 €"},
		"windows-1250": {"Lech Wa\xb3\xeasa", "Lech Wałęsa"},
		"windows-1251": {"\xcc\xee\xf1\xea\xe2\xe0", "Москва"},
		"windows-1253": {"\xc1\xe8\xde\xed\xe1", "Αθήνα"},
		"windows-1254": {"\xddzmir", "İzmir"},
		"macintosh":    {"M\x9fller", "Müller"},
	} {
		for _, from := range []io.Reader{strings.NewReader(c.file), iotest.OneByteReader(strings.NewReader(c.file))} {
			if got, err := io.ReadAll(newDecoder(from, encoding)); err != nil || string(got) != c.want {
				t.Errorf("%s: %q, want %q; %v", encoding, got, c.want, err)
			}
		}
		if !slices.Contains(Encodings(), encoding) {
			t.Errorf("%s is not listed", encoding)
		}
	}
	if n := len(Encodings()); n != 12 {
		t.Errorf("%d encodings are listed, 12 are tested", n)
	}
}

func TestContactsOfAFileInWindows1252AreThoseOfTheSameFileInUTF8(t *testing.T) {
	in := NewMappedReader(strings.NewReader("Telefon;Name\r\n0151 23456789;J\xfcrgen\r\n"),
		Format{Mapping: map[string]string{"Telefon": PhoneColumn}, Country: "DE"}, time.Now())
	row, err := in.Next()
	if err != nil || row.Number != "+4915123456789" || row.Variables["Name"] != "Jürgen" {
		t.Errorf("%+v, %v", row, err)
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("a\xfcb"), 3)
	f.Add(wide(binary.BigEndian, "a🎉"), 1)
	f.Fuzz(func(t *testing.T, file []byte, piece int) {
		whole, err := io.ReadAll(newDecoder(bytes.NewReader(file), ""))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := io.ReadAll(newDecoder(iotest.OneByteReader(bytes.NewReader(file)), ""))
		if err != nil || !bytes.Equal(whole, parts) {
			t.Fatalf("%q at once, %q in pieces, %v", whole, parts, err)
		}
		wide := len(file) >= 4 && (file[0] == 0) != (file[1] == 0) && file[0] == 0 == (file[2] == 0) &&
			(file[1] == 0) == (file[3] == 0)
		if utf8.Valid(file) && !wide && !bytes.Equal(whole, file) {
			t.Fatalf("UTF-8 %q reads as %q", file, whole)
		}
	})
}
