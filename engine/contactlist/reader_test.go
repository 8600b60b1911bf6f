package contactlist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/number"
)

// all reads a file to its end, or to the error that concerns it as a whole.
func all(r io.Reader) (rows []Row, err error) {
	in := NewReader(r)
	for {
		row, err := in.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return rows, err
		}
		row.Record = "" // see TestARowIsKeptAsItStandsInTheFile
		rows = append(rows, row)
	}
}

const (
	ada   = "+4915112345678"
	grace = "+4915112345679"
)

func good(line int, n string, vars ...string) Row {
	r := Row{Line: line, Number: engine.PhoneNumber(n), Given: n}
	for i := 0; i < len(vars); i += 2 {
		if r.Variables == nil {
			r.Variables = map[string]string{}
		}
		r.Variables[vars[i]] = vars[i+1]
	}
	return r
}

func TestColumnsMayHaveFurtherNumbersOfThePerson(t *testing.T) {
	const file = "phone_number,Phone_Number_2,phone_number_2_label,phone_number_4,name\n" +
		"+4915112345678,030 901820,Büro,,Ada\n" +
		"+4915112345679,+4915112345679,,+4930901821,Bert\n" +
		"+4915112345670,12,,,Carl\n" +
		"+4915112345671,,Büro,,Dora\n"
	r := NewMappedReader(strings.NewReader(file), Format{Country: "DE"}, time.Unix(1e9, 0))
	want := []struct{ others, reason, says string }{
		{"+4930901820\tBüro", "", ""}, {"+4930901821", "", ""},
		{"", NumbersInvalid, "phone_number_2 is no number that can be called, such as +4930901820"},
		{"", NumbersInvalid, "phone_number_2_label labels no number: phone_number_2 is empty"},
	}
	for i, w := range want {
		row, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if string(row.Alternates) != w.others || row.Reason != w.reason || row.Message != w.says ||
			w.reason == "" && len(row.Variables) != 1 {
			t.Errorf("row %d: %+v, %q", i, row, string(row.Alternates))
		}
	}
}

func TestRowsOfAFileBecomeContacts(t *testing.T) {
	f := func(name, file string, want ...Row) {
		t.Helper()
		// However the bytes arrive.
		for _, in := range []io.Reader{strings.NewReader(file), iotest.OneByteReader(strings.NewReader(file)),
			iotest.DataErrReader(strings.NewReader(file))} {
			rows, err := all(in)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !reflect.DeepEqual(rows, want) {
				t.Errorf("%s:\n got %+v\nwant %+v", name, rows, want)
			}
		}
	}
	f("one column", "phone_number\n"+ada+"\n"+grace+"\n", good(2, ada), good(3, grace))
	f("no newline at the end", "phone_number\n"+ada, good(2, ada))
	f("header alone", "phone_number\n")
	f("variables", "phone_number,first_name\n"+ada+",Ada\n", good(2, ada, "first_name", "Ada"))
	f("any column may hold the number", "first_name,phone_number\nAda,"+ada+"\n", good(2, ada, "first_name", "Ada"))
	f("the column in any case and with spaces", "name , Phone_NUMBER \nAda, "+ada+" \n", good(2, ada, "name", "Ada"))
	f("byte order mark", "\uFEFFphone_number\n"+ada+"\n", good(2, ada))
	f("windows line ends", "phone_number,name\r\n"+ada+",Ada\r\n", good(2, ada, "name", "Ada"))
	f("semicolons, with commas in the cells", "phone_number;name\n"+ada+";Ada, Countess\n",
		good(2, ada, "name", "Ada, Countess"))
	f("pipes, with commas in the cells", "phone_number|name\n"+ada+"|Ada, Countess\n",
		good(2, ada, "name", "Ada, Countess"))
	f("tabs", "phone_number\tname\n"+ada+"\tAda\n", good(2, ada, "name", "Ada"))
	f("a delimiter in quotation marks does not count", "\"a;b;c\",phone_number\nx,"+ada+"\n", good(2, ada, "a;b;c", "x"))
	f("empty lines are none", "\n\nphone_number,name\n\n"+ada+",Ada\n\n , \n"+grace+",Grace\n\n",
		good(5, ada, "name", "Ada"), good(8, grace, "name", "Grace"))
	f("quoted cells, with newlines", "phone_number,note\n"+ada+",\"says \"\"hi\"\"\nand leaves\"\n"+grace+",x\n",
		good(2, ada, "note", "says \"hi\"\nand leaves"), good(4, grace, "note", "x"))
	f("cells are kept as they are, missing ones are empty", "phone_number,a,b\n"+ada+", x ,\n"+grace+"\n",
		good(2, ada, "a", " x ", "b", ""), good(3, grace, "a", "", "b", ""))
	f("columns without a name at the end hold nothing", "phone_number,a,,\n"+ada+",x,,\n", good(2, ada, "a", "x"))
	f("numbers with separators", "phone_number\n+49 151 12345678\n0049-151/12345678\n",
		Row{Line: 2, Number: ada, Given: "+49 151 12345678"}, Row{Line: 3, Number: ada, Given: "0049-151/12345678"})
	f("the same number twice is for others to judge", "phone_number\n"+ada+"\n"+ada+"\n", good(2, ada), good(3, ada))
}

func TestRowsThatCannotBecomeContactsHaveALineAndAReason(t *testing.T) {
	f := func(cells string, reason string) {
		t.Helper()
		rows, err := all(strings.NewReader("phone_number,note\n" + ada + ",x\n" + cells + "\n" + grace + ",y\n"))
		if err != nil || len(rows) != 3 {
			t.Fatalf("%q: %+v, %v", cells, rows, err)
		}
		bad := rows[1]
		if bad.Line != 3 || bad.Reason != reason || bad.Message == "" || bad.Number != "" || bad.Variables != nil {
			t.Errorf("%q: %+v, want %s", cells, bad, reason)
		}
		if rows[0].Number != ada || rows[2].Number != grace || rows[2].Line < 4 {
			t.Errorf("%q: its neighbours %+v", cells, rows)
		}
	}
	f(",no number", "invalid_number")
	f("0151 12345678,national", "invalid_number")
	f("+49151,short", "invalid_number")
	f("hello,text", "invalid_number")
	f("+49 abc,text", "invalid_number")
	f("+"+strings.Repeat("1", 100)+",long", "invalid_number")
	f("+499001234567,premium", "premium_number")
	f("+4915112345670,a,b", MalformedRow)
	f("+4915112345670,a\"b", MalformedRow)
	f("+4915112345670,\"a\"b", MalformedRow)
	f("+4915112345670,a\x00b", VariablesInvalid)
	f("+4915112345670,ä\xff\xfe", VariablesInvalid)
	f("+4915112345670,"+strings.Repeat("x", contact.VariablesCap), VariablesInvalid)
	f("+4915112345670\",x", MalformedRow)

	rows, err := all(strings.NewReader("phone_number\n" + strings.Repeat("ü", 100) + "\n"))
	if err != nil || len(rows) != 1 || len(rows[0].Given) > givenCap+len("…") || !utf8.ValidString(rows[0].Given) {
		t.Errorf("%+v %v", rows, err)
	}
}

func TestAFileThatCannotBeReadIsRefusedAsAWhole(t *testing.T) {
	f := func(file, code string) {
		t.Helper()
		_, err := all(strings.NewReader(file))
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != code || e.Kind != engine.KindInvalid || e.Detail == "" {
			t.Errorf("%.60q: %v, want %s", file, err, code)
		}
	}
	f("", "empty_file")
	f("\n \n\r\n", "empty_file")
	f("\uFEFF", "empty_file")
	f("name,number\nAda,"+ada+"\n", "missing_column")
	f(ada+"\n", "missing_column")
	f("phone_number,name,name\n", "duplicate_column")
	f("phone_number,Phone_Number\n", "duplicate_column")
	f("phone_number,,name\n", "empty_column")
	f("phone_number,"+strings.Repeat("n", contact.VariableNameCap+1)+"\n", "column_name_too_long")
	f("phone_number"+manyColumns(contact.VariableCountCap+1)+"\n", "too_many_columns")
	f("phone_number,a\x00b\n", "column_name_invalid")
	f("phone_number,nä\xffme\n", "not_utf8")
	f("\xff\xfep\x00h\x00o\x00n\x00e\x00", "missing_column")
	f("phone_number,\"name\n"+ada+",x\n", "malformed_csv")
	f(strings.Repeat("x", RecordCap+1), "record_too_long")
	// An unclosed quotation mark must not silently swallow the rest.
	f("phone_number,name\n"+ada+",\"Ada\n"+grace+",Grace\n", "malformed_csv")
	f("phone_number,name\n"+ada+",\"Ada\n"+grace+",\"Grace\"\n", "malformed_csv")
	f("phone_number,name\n"+ada+",\"Ada\n"+strings.Repeat(grace+",Grace\n", 20_000), "record_too_long")
	f("phone_number,name\n"+ada+","+strings.Repeat("x", 2*RecordCap)+"\n", "record_too_long")

	if _, err := all(strings.NewReader("phone_number" + manyColumns(contact.VariableCountCap) + "\n" + ada +
		"\n")); err != nil {
		t.Errorf("as many columns as there may be: %v", err)
	}
	if rows, err := all(strings.NewReader("phone_number,a\n" + ada + "," + strings.Repeat("x", contact.VariablesCap-1) +
		"\n")); err != nil || rows[0].Reason != "" {
		t.Errorf("as many bytes as there may be: %v", err)
	}
}

func manyColumns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",v%d", i)
	}
	return b.String()
}

func TestAnErrorOfTheSourceComesBackAsItIs(t *testing.T) {
	cut := errors.New("cut")
	for _, file := range []string{"", "phone_n", "phone_number\n" + ada + "\n", "phone_number\n" + ada + ",\"x"} {
		if _, err := all(io.MultiReader(strings.NewReader(file), iotest.ErrReader(cut))); !errors.Is(err, cut) {
			t.Errorf("behind %q: %v", file, err)
		}
	}
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	in := NewReader(io.MultiReader(strings.NewReader("phone_number,name\n"), &endless{rows: 6_000}))
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before uint64
	for n := 0; ; n++ {
		if _, err := in.Next(); errors.Is(err, io.EOF) {
			if n != 6_000 {
				t.Errorf("%d rows", n)
			}
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if n == 100 {
			before = heap()
		}
	}
	if after := heap(); after > before+(256<<10) {
		t.Errorf("%d bytes are held behind the last row, %d behind the 100th", after, before)
	}
	runtime.KeepAlive(in)
}

// endless is a file of many rows.
type endless struct {
	rows int
	rest []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.rows == 0 {
			return 0, io.EOF
		}
		e.rows--
		e.rest = fmt.Appendf(nil, "+4915112%06d,Ada\n", e.rows)
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{
		"", "phone_number\n" + ada + "\n", "\uFEFFphone_number;name\r\n" + ada + ";Ada\r\n", "phone_number\tx\n" + ada +
			"\t\"a\nb\"\n",
		"phone_number,name\n" + ada + ",\"Ada\n", "a,b\n", "phone_number,,\n,,\n" + ada + ",,\n",
		"\"phone_number\",\"a\"\"b\"\n+49 151 1,2\n", "phone_number\n\x00\n\xff\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, err := all(bytes.NewReader(file))
		var e *engine.Error
		if err != nil && (!errors.As(err, &e) || e.Kind != engine.KindInvalid) {
			t.Fatalf("error %v", err)
		}
		last, lines := 1, bytes.Count(file, []byte("\n"))+1
		for _, r := range rows {
			if r.Line <= last || r.Line > lines {
				t.Fatalf("row in line %d behind line %d of %d", r.Line, last, lines)
			}
			last = r.Line
			if !utf8.ValidString(r.Given) || strings.Contains(r.Given, "\x00") || len(r.Given) > givenCap+3 {
				t.Fatalf("given %q", r.Given)
			}
			if r.Reason != "" {
				if r.Number != "" || r.Variables != nil || r.Message == "" {
					t.Fatalf("a refused row: %+v", r)
				}
				continue
			}
			if n, err := number.Parse(r.Number.E164()); err != nil || n != r.Number {
				t.Fatalf("number %s: %v", r.Number, err)
			}
			total := 0
			for k, v := range r.Variables {
				if k == "" || len(k) > contact.VariableNameCap || !utf8.ValidString(v) || strings.Contains(v, "\x00") {
					t.Fatalf("variable %q = %q", k, v)
				}
				total += len(k) + len(v)
			}
			if len(r.Variables) > contact.VariableCountCap || total > contact.VariablesCap {
				t.Fatalf("%d variables of %d bytes", len(r.Variables), total)
			}
		}
		// The same file gives the same rows.
		if again, _ := all(iotest.HalfReader(bytes.NewReader(file))); !reflect.DeepEqual(again, rows) {
			t.Fatalf("read in other pieces: %+v, %+v", again, rows)
		}
	})
}

func TestTheLimitsOfAFile(t *testing.T) {
	f := func(digits int, want string) {
		t.Helper()
		rows, err := all(strings.NewReader("phone_number\n" + strings.Repeat("x", digits) + "\n"))
		if err != nil || len(rows) != 1 || rows[0].Given != want {
			t.Errorf("%d: %+v, %v", digits, rows, err)
		}
	}
	f(40, strings.Repeat("x", 40)) // an unreadable number is kept up to 40 bytes
	f(41, strings.Repeat("x", 40)+"…")

	header := func(name string) error {
		_, err := all(strings.NewReader("phone_number," + name + "\n"))
		return err
	}
	if err := header(strings.Repeat("n", 64)); err != nil {
		t.Errorf("a name of 64 bytes: %v", err)
	}
	if header(strings.Repeat("n", 65)) == nil || header("\x00n") == nil {
		t.Error("a name that no variable can have was taken")
	}
	// A record may have 64 KiB; the first line counts with its end.
	long := func(n int) string { return "phone_number" + strings.Repeat(" ", n-len("phone_number\n")) + "\n" }
	if _, err := all(strings.NewReader(long(64 << 10))); err != nil {
		t.Errorf("a first line of 64 KiB: %v", err)
	}
	if _, err := all(strings.NewReader(long(64<<10 + 1))); engine.ErrorCode(err) != "record_too_long" {
		t.Errorf("a first line of more: %v", err)
	}
	rows, err := all(strings.NewReader("phone_number,a\n" + ada + ",\x00x\n"))
	if err != nil || len(rows) != 1 || rows[0].Reason == "" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestARowThatEndsBeforeTheColumnOfTheNumbersHasNoNumber(t *testing.T) {
	rows, err := all(strings.NewReader("name,phone_number\nAda\n"))
	if err != nil || len(rows) != 1 || rows[0].Reason != "invalid_number" || rows[0].Message != "the row has no number" ||
		rows[0].Given != "" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestOfDelimitersThatStandEquallyOftenTheCommaCountsThenTheSemicolon(t *testing.T) {
	for file, want := range map[string]Row{
		"phone_number,a;b\n" + ada + ",x\n":     good(2, ada, "a;b", "x"),
		"phone_number,a\tb\n" + ada + ",x\n":    good(2, ada, "a\tb", "x"),
		"phone_number;a\tb\n" + ada + ";x\n":    good(2, ada, "a\tb", "x"),
		"phone_number,a;b;c\n" + ada + ",x;y\n": {},
	} {
		rows, err := all(strings.NewReader(file))
		if want.Number == "" {
			if engine.ErrorCode(err) != "missing_column" {
				t.Errorf("%q: %+v, %v", file, rows, err)
			}
		} else if err != nil || !reflect.DeepEqual(rows, []Row{want}) {
			t.Errorf("%q: %+v, %v", file, rows, err)
		}
	}
}

func TestAMappingRenamesColumnsAndLeavesThemOut(t *testing.T) {
	mapped := func(file string, mapping map[string]string) (rows []Row, err error) {
		in := NewMappedReader(strings.NewReader(file), Format{Mapping: mapping}, time.Now())
		for {
			row, err := in.Next()
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return rows, err
			}
			row.Record = ""
			rows = append(rows, row)
		}
	}
	const file = "Mobile no , First name,notes\n" + ada + ",Ada,secret\n"
	for name, x := range map[string]struct {
		mapping map[string]string
		want    Row
	}{
		"renamed": {map[string]string{"Mobile no": "phone_number", "First name": "first_name"},
			good(2, ada, "first_name", "Ada", "notes", "secret")},
		"left out": {map[string]string{"Mobile no": "Phone_Number", "notes": "", "First name": ""}, good(2, ada)},
		"exchanged": {map[string]string{"Mobile no": "phone_number", "First name": "notes", "notes": "First name"},
			good(2, ada, "notes", "Ada", "First name", "secret")},
		"same as ever": {map[string]string{"Mobile no": "phone_number", "notes": "notes"},
			good(2, ada, "First name", "Ada", "notes", "secret")},
	} {
		if rows, err := mapped(file, x.mapping); err != nil || len(rows) != 1 || !reflect.DeepEqual(rows[0], x.want) {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
	}
	for name, x := range map[string]struct {
		mapping map[string]string
		code    string
	}{
		"no number":         {map[string]string{"notes": ""}, "missing_column"},
		"a column too many": {map[string]string{"Mobile no": "phone_number", "b": "x", "a": "y"}, "missing_column"},
		"two alike":         {map[string]string{"Mobile no": "phone_number", "notes": "First name"}, "duplicate_column"},
		"too long": {map[string]string{"Mobile no": "phone_number", "notes": strings.Repeat("x", 65)},
			"column_name_too_long"},
	} {
		if _, err := mapped(file, x.mapping); engine.ErrorCode(err) != x.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mapped(file, map[string]string{"Mobile no": "phone_number", "b": "x",
		"a": "y"}); !strings.Contains(engine.ErrorDetail(err), "no column a,") {
		t.Errorf("%v", err)
	}
	// Columns that are left out do not count.
	many := "phone_number" + strings.Repeat(",x", 1)
	for i := range contact.VariableCountCap {
		many += fmt.Sprintf(",v%d", i)
	}
	if rows, err := mapped(many+"\n"+ada+"\n", map[string]string{"x": ""}); err != nil || len(rows) != 1 ||
		len(rows[0].Variables) != contact.VariableCountCap {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestColumnsSayWhenAContactMayBeCalled(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	in := NewMappedReader(strings.NewReader("phone_number;Not_Before;expires_at;priority;plan\n"+
		"+4915112345678;2026-03-02T12:00:00+01:00;2026-03-03T12:00:00Z;8;gold\n+4915112345679;;;;\n"+
		"+4915112345670;yesterday;;;\n+4915112345671;;;high;\n"), Format{}, now)
	row, err := in.Next()
	at, until := now.Add(time.Hour), now.Add(26*time.Hour)
	if got := row.Times; err != nil || !got.NotBefore.Equal(at) || !got.ExpiresAt.Equal(until) || *got.Priority != 8 ||
		!maps.Equal(row.Variables, map[string]string{"plan": "gold"}) {
		t.Errorf("%+v, %v", row, err)
	}
	if row, err := in.Next(); err != nil || !row.Times.None() || row.Reason != "" {
		t.Errorf("%+v, %v", row, err)
	}
	for range 2 {
		if row, err := in.Next(); err != nil || row.Reason != TimesInvalid {
			t.Errorf("%+v, %v", row, err)
		}
	}
	// A list that is not of contacts has no such columns.
	plain := NewReader(strings.NewReader("phone_number,priority\n+4915112345678,high\n"))
	if row, err := plain.Next(); err != nil || row.Variables["priority"] != "high" {
		t.Errorf("%+v, %v", row, err)
	}
}
