package mutants

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func parsed(t *testing.T, dir, text string) *pack {
	t.Helper()
	s := &source{path: dir + "/a.go", text: []byte(text), fset: token.NewFileSet()}
	var err error
	if s.tree, err = parser.ParseFile(s.fset, s.path, s.text, parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
	return &pack{path: dir, name: "a", files: []*source{s}}
}

func TestEveryLimitAndComparisonIsChanged(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		var got []string
		for _, m := range textMutants(parsed(t, "engine/a", "package a\n"+text)) {
			got = append(got, m.What)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	f("const a, b = 1, \"x\"", "a = 1: one more", "a = 1: one less")
	f("const a = 2 * time.Second", "a = 2 * time.Second: twice", "a = 2 * time.Second: half")
	f("const a = 0.5", "a = 0.5: twice", "a = 0.5: half")
	f("const a = iota")
	f("func f() { for i := 0; i < 3; i++ { g(i < 1, i < 1) } }", "f: i < 1: <=", "f: i < 1: <= (#2)")
	f("func f() bool { return a.After(b.c) || a >= b }", "f: a.After(b.c): or equal", "f: a >= b: >")
}

func TestInHTTPOnlyWhatIsNamedALimitIsChanged(t *testing.T) {
	var got []string
	for _, m := range textMutants(parsed(t, "http",
		"package a\nconst bodyCap, maxKeys, interval = 1, 2, 3\nfunc f() bool { return 1 < 2 }")) {
		got = append(got, m.What)
	}
	if !slices.Equal(got, []string{"bodyCap = 1: one more", "bodyCap = 1: one less", "maxKeys = 2: one more",
		"maxKeys = 2: one less"}) {
		t.Fatal(got)
	}
}

func TestEveryFinalResponseIsChanged(t *testing.T) {
	const text = `package a
var rows = [2]rowResult{
	rowBusy: {Outcome: engine.OutcomeBusy, Consumes: true, Retry: RetryYes},
	rowAuth: {Outcome: engine.OutcomeTrunkError, Retry: RetryNo},
}
var codes = tabulate(1, map[int]entry{401: {rowAuth, "no", nil}, 486: {rowBusy, "busy", adjust}})
`
	var got []string
	for _, m := range textMutants(parsed(t, "engine/disposition", text)) {
		got = append(got, m.What)
	}
	want := []string{
		"rowBusy: Outcome: engine.OutcomeBusy → engine.OutcomeNoAnswer", "rowBusy: Consumes: true → false",
		"rowBusy: Retry: RetryYes → RetryNo", "rowAuth: Outcome: engine.OutcomeTrunkError → engine.OutcomeBusy",
		"rowAuth: Retry: RetryNo → RetryYes", "rowAuth: Consumes: false → true",
		"401: rowAuth → rowBusy", "486: rowBusy → rowNoAnswer", "486: without its adjustment",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestRowsAreMarkedWithTheLineOfTheirOutermostCall(t *testing.T) {
	p := parsed(t, "engine/a", "package a\nfunc f() row { return row{On: a} }\nvar rows = []row{\n\t{On: b},\n\tf(),\n}\n")
	e := editor{text: p.files[0].text, fset: p.files[0].fset}
	markRows(&e, p.files[0])
	want := "package a\nfunc f() row { return rowAt(\"engine/a/a.go:2\", row{On: a}) }\nvar rows = []row{\n" +
		"\trowAt(\"engine/a/a.go:4\", row{On: b}),\n\trowAt(\"engine/a/a.go:5\", f()),\n}\n"
	if got := string(e.apply()); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheShareIsOfWhatCouldBeKilled(t *testing.T) {
	same := map[string]string{"a.go: alike": "why", "a.go: gone": "why", "a.go: seen": "why"}
	r := &report{same: same}
	fates := map[string]string{"alike": survived, "seen": killed, "broken": notBuilt, "told": killed,
		"pictured": byPicture, "missed": survived}
	for what, fate := range fates {
		r.add("a", []*mutant{{File: "a.go", What: what, Fate: fate}})
	}
	if c := r.total; c.judged() != 4 || c.any != 3 || c.behaviour != 2 {
		t.Fatalf("%+v", c)
	}
	err := r.verdict(true)
	for _, says := range []string{"a.go: gone: there is no such mutant", "a.go: seen: "} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if err := (&report{total: count{mutants: 100, behaviour: 94}}).verdict(true); err == nil {
		t.Error("94 % is enough")
	}
	if err := (&report{total: count{mutants: 100, behaviour: 95}}).verdict(true); err != nil {
		t.Error(err)
	}
}

func TestAnEquivalentNeedsAReason(t *testing.T) {
	if got, err := parseEquivalents("# a\nx: y\n\tbecause\n"); err != nil || got["x: y"] != "because" {
		t.Fatal(got, err)
	}
	for _, text := range []string{"x\n", "x\ny\n\tz\n", "\tz\n", "x\n\tz\nx\n\tz\n"} {
		if _, err := parseEquivalents(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if _, err := parseEquivalents(equivalents); err != nil {
		t.Error(err)
	}
}

// One small package, for real: a test that knows its limit kills both changes of it, and a limit
// that no test knows survives.
func TestMutantsOfAPackageAreJudgedByItsTests(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module m\n\ngo 1.26\n")
	put("engine/a/a.go", "package a\n\nconst limit = 3\n\nconst loose = 7\n\nfunc Over(n int) bool { return n > limit }\n")
	put("engine/a/a_test.go", "package a\n\nimport \"testing\"\n\nfunc TestOver(t *testing.T) {\n\tif Over(3) || "+
		"!Over(4) {\n\t\tt.Fatal()\n\t}\n}\n")
	p, err := load(root, "engine/a")
	if err != nil {
		t.Fatal(err)
	}
	ms, err := mutate(root, t.TempDir(), 2, p, "", nil, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range ms {
		got[m.What] = m.Fate + " " + m.By
	}
	for what, want := range map[string]string{
		"limit = 3: one more": "killed TestOver", "limit = 3: one less": "killed TestOver",
		"Over: n > limit: >=": "killed TestOver", "loose = 7: one more": "survived ", "loose = 7: one less": "survived ",
	} {
		if got[what] != want {
			t.Errorf("%s: %q, want %q", what, got[what], want)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d mutants", len(got))
	}
}
