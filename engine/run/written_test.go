package run

import (
	"bytes"
	"encoding"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/enginetest"
	"dialler/engine/monotonic"
)

func TestEverythingInTheStateOfARunCanBeWrittenDown(t *testing.T) {
	if err := codec().Problem(); err != nil {
		t.Error(err)
	}
}

// keeps are the methods by which a run stores an event or a command for later.
var keeps = []string{"send", "touch", "touchRow", "touchFound", "broadcast", "later", "owe"}

// Any event that a run accepts may wait in its state, and so may any command for a contact without
// an actor.
func TestEveryEventAndCommandOfARunCanBeWrittenDown(t *testing.T) {
	known, found := codec().Variants(), 0
	set := token.NewFileSet()
	need := func(e ast.Expr) {
		name := types.ExprString(e)
		if found++; !strings.Contains(name, ".") {
			name = "run." + name
		}
		name = strings.Replace(name, "run.SeatsAllotted", "fleet.Allotted", 1) // an alias of it
		if !slices.Contains(known, "*"+name) {
			t.Errorf("%s: a *%s waits in a run and is none of the codec's variants", set.Position(e.Pos()), name)
		}
	}
	made := func(e ast.Expr) {
		if p, ok := e.(*ast.UnaryExpr); ok {
			if v, ok := p.X.(*ast.CompositeLit); ok {
				need(v.Type)
			}
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CaseClause:
				for _, e := range n.List {
					if p, ok := e.(*ast.StarExpr); ok {
						need(p.X)
					}
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(keeps, f.Sel.Name) {
					for _, arg := range n.Args {
						made(arg)
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Event" {
					made(n.Value)
				}
			}
			return true
		})
	}
	if found < 80 {
		t.Errorf("only %d were looked at", found)
	}
}

func TestEveryFieldOfARunIsReadBack(t *testing.T) {
	s, n := New("cmp", Config{}), 0
	var open func(reflect.Type) bool // it holds values of several types
	open = func(t reflect.Type) bool {
		switch t.Kind() {
		case reflect.Interface:
			return true
		case reflect.Map, reflect.Slice, reflect.Pointer:
			return open(t.Elem())
		}
		return false
	}
	enginetest.Fill(reflect.ValueOf(s).Elem(), &n, func(f reflect.StructField) bool { return !open(f.Type) })
	if n < 500 {
		t.Fatalf("only %d fields were filled", n)
	}
	s.M.C.Narrow(s.M.Calendars) // as it is where a run has them
	read := readBack(t, s)
	read.rules = nil
	if a, b := dump(s), dump(read); a != b {
		t.Errorf("\n%s\nbecomes\n%s", a, b)
	}
}

// Every event that a run accepts, with every field set, is what it was after it was recorded.
func TestEveryEventIsReadBackFromARecording(t *testing.T) {
	near := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	w, r, fields := Codec().Writer(near), Codec().Reader(near, monotonic.Join), 0
	var closed func(f reflect.Type) bool // it holds no values of several types, nor what writes itself
	closed = func(f reflect.Type) bool {
		switch f.Kind() {
		case reflect.Interface:
			return false
		case reflect.Map, reflect.Slice, reflect.Pointer:
			return closed(f.Elem())
		}
		return f == reflect.TypeFor[time.Time]() ||
			!reflect.PointerTo(f).Implements(reflect.TypeFor[encoding.BinaryMarshaler]())
	}
	for _, of := range Codec().Types() {
		if of == reflect.TypeFor[*call.Rules]() {
			continue // TestEveryFieldOfARunIsReadBack
		}
		v := reflect.New(of).Elem()
		enginetest.Fill(v, &fields, func(f reflect.StructField) bool { return closed(f.Type) })
		for range 2 { // the second time, its texts are there
			b, err := w.Variant(nil, v.Interface())
			if err != nil {
				t.Fatalf("%s: %v", of, err)
			}
			r.Give(b)
			if got := r.Variant(); r.Err() != nil || r.Left() != 0 || dump(got) != dump(v.Interface()) {
				t.Fatalf("%s: %v, %d bytes left\n%s\nbecomes\n%s", of, r.Err(), r.Left(), dump(v.Interface()), dump(got))
			}
		}
	}
	if n := len(Codec().Types()); fields < 1000 || n < 90 {
		t.Errorf("only %d fields of %d types", fields, n)
	}
}

func TestTheLookAheadIsReadBackInItsOrder(t *testing.T) {
	w := empty(t)
	rows := w.rows(20)
	q := NewQueue()
	for i, row := range rows {
		if i%5 == 0 {
			q.PushSeatedOnly(row)
			continue
		}
		q.Push(row)
	}
	b, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Queue
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if q.Len() != read.Len() || q.SeatedOnly() != read.SeatedOnly() {
		t.Fatalf("%d and %d for a seat, were %d and %d", read.Len(), read.SeatedOnly(), q.Len(), q.SeatedOnly())
	}
	for seat := false; q.Len() > 0; seat = !seat {
		a, _ := q.Pop(w.s.order(), seat)
		b, _ := read.Pop(w.s.order(), seat)
		if a.ID != b.ID {
			t.Fatalf("%s in place of %s", b.ID, a.ID)
		}
	}
}

func TestBytesThatAreNoRunLeaveTheRunAsItIs(t *testing.T) {
	s := New("cmp", Config{})
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other := New("another", Config{})
	if other.UnmarshalBinary(b[:len(b)-1]) == nil || other.ID != engine.CampaignID("another") {
		t.Errorf("the campaign is %s", other.ID)
	}
}

// readBack returns a serialised run after reading it back, and checks that it serialises to the
// same bytes and has the same rules.
func readBack(t tester, s *State) *State {
	t.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatalf("the run cannot be written down: %v", err)
	}
	var read State
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatalf("the run cannot be read back: %v", err)
	}
	if again, err := read.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
		t.Fatalf("%d bytes become %d, %v", len(b), len(again), err)
	}
	if a, b := dump(s.rules), dump(read.rules); a != b && s.rules != nil {
		t.Fatalf("the rules are worked out as\n%s\nafter\n%s", b, a)
	}
	return &read
}
