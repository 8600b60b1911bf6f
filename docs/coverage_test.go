package docs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

const coveragePath = "spec_coverage.md"

// laws are the texts that bind the dialler, as given to us: the specification, and the rulebook
// that interprets it (SEMANTICS); each with the number of sentences that no test proves. That
// number falls as tests are written, and grows only when a review finds that a test proves less.
// Whoever proves a sentence lowers it here.
var laws = []struct {
	title, text, entries string
	unproven             int
}{
	{"The specification", "testdata/spec.md", "testdata/spec_tests.txt", 0},
	{"The rulebook", "testdata/semantics.md", "testdata/semantics_tests.txt", 0},
}

// entry says what proves a sentence. A sentence that no test proves has a word that says why:
// explains (nothing to prove), owner (the owner decides elsewhere), or unproven.
type entry struct {
	id, words string
	tests     []string
	word, why string
}

const testsAtMost = 7

// coverage is a law with its entries, in the order of its sentences.
type coverage struct {
	title     string
	sentences []sentence
	entries   map[string]entry
}

// TestEverySentenceOfTheLawNamesTheTestsThatProveIt compares the entries with the law and the
// tests, and the page with both.
func TestEverySentenceOfTheLawNamesTheTestsThatProveIt(t *testing.T) {
	have := testsOfTheTree(t)
	var all []coverage
	for _, l := range laws {
		text, err := os.ReadFile(l.text)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadFile(l.entries)
		if err != nil {
			t.Fatal(err)
		}
		c, wrong := judge(string(text), string(entries), have.lacks)
		for _, w := range wrong {
			t.Errorf("docs/%s: %s", l.entries, w)
		}
		c.title = l.title
		switch n := c.count("unproven"); {
		case n > l.unproven:
			t.Errorf(
				"docs/%s: %d sentences are unproven, %d were: write the tests that prove them",
				l.entries,
				n,
				l.unproven,
			)
		case n < l.unproven:
			t.Errorf("docs/%s: %d sentences are unproven, %d were: write the lower number into docs/coverage_test.go",
				l.entries, n, l.unproven)
		}
		all = append(all, c)
	}
	got := coveragePage(all)
	if *update {
		if err := os.WriteFile(coveragePath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(coveragePath); err != nil || string(want) != got {
		t.Errorf("docs/%s is out of step (%v): go test ./docs -update", coveragePath, err)
	}
}

// judge reads the entries of a law and says what is wrong with them. lacks says
// what is wrong with a test, "" when nothing is.
func judge(law, list string, lacks func(test string) string) (c coverage, wrong []string) {
	c = coverage{sentences: cut(law), entries: map[string]entry{}}
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	head, list, _ := strings.Cut(list, "\n")
	if want := fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(law))); head != want {
		say(
			"the law is another text than was covered: mend the entries below, then write into the first line: %s",
			want,
		)
	}
	var order []string
	for block := range strings.SplitSeq(list, "\n\n") {
		e, err := readEntry(block)
		if err != "" {
			say("%s", err)
		}
		if e.id == "" {
			continue
		}
		if _, twice := c.entries[e.id]; twice {
			say("%s is there twice: remove one", e.id)
		}
		c.entries[e.id] = e
		order = append(order, e.id)
		switch n := len(e.tests); {
		case e.word == "" && n == 0:
			say("%s names no test: name those that prove %q, or write unproven: and why", e.id, e.words)
		case e.word != "" && n > 0:
			say("%s has tests and is %s: it is one or the other", e.id, e.word)
		case n > testsAtMost:
			say("%s names %d tests: name the %d that prove it best", e.id, n, testsAtMost)
		}
		console := 0
		for _, test := range e.tests {
			if strings.HasPrefix(test, "console: ") {
				console++
			}
			if why := lacks(test); why != "" {
				say("%s: %s %s: name one that proves %q", e.id, test, why, e.words)
			}
		}
		if console > 0 && console == len(e.tests) {
			say("%s: tests of the console run in `make check` only: name one of Go beside them", e.id)
		}
	}
	known := map[string]bool{}
	for _, s := range c.sentences {
		if known[s.id] {
			say("%s stands twice in the law under one heading: cut must tell them apart", s.id)
		}
		known[s.id] = true
		switch e, ok := c.entries[s.id]; {
		case !ok:
			say("a sentence is new or was changed: add\n\n%s\n> %s\nTestThatProvesIt\n", s.id, s.words)
		case e.words != s.words:
			say("%s says %q, the law %q: copy the law", s.id, e.words, s.words)
		}
	}
	for _, id := range order {
		if !known[id] {
			say(
				"%s is no sentence of the law any more: remove it, or give its tests to the sentence that took its place: %q",
				id,
				c.entries[id].words,
			)
		}
	}
	return c, wrong
}

// readEntry reads the block of one sentence; the block of a heading has no id.
func readEntry(block string) (e entry, wrong string) {
	for line := range strings.Lines(strings.TrimSpace(block)) {
		line = strings.TrimSpace(line)
		word, why, isWord := strings.Cut(line, ": ")
		quoted, isQuote := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, "#"):
		case e.id == "":
			e.id = line
		case isQuote:
			e.words = quoted
		case isWord && (word == "explains" || word == "owner" || word == "unproven") && why != "":
			e.word, e.why = word, why
		case strings.Contains(line, "Test"), strings.Contains(line, "Fuzz"), strings.HasPrefix(line, "console: "):
			e.tests = append(e.tests, line)
		default:
			wrong = fmt.Sprintf(
				"%s: %q is no test, and neither explains:, owner: nor unproven: with a reason",
				e.id,
				line,
			)
		}
	}
	return e, wrong
}

// count is the number of sentences with a word, or with "" of those that tests prove.
func (c *coverage) count(word string) int {
	n := 0
	for _, s := range c.sentences {
		if e, ok := c.entries[s.id]; ok && e.word == word {
			n++
		}
	}
	return n
}

func coveragePage(all []coverage) string {
	tests := map[string]bool{}
	var b strings.Builder
	b.WriteString(`# Which test proves which sentence

Made from the law (` + "`docs/testdata/*.md`" + `) and its entries (` + "`docs/testdata/*_tests.txt`" + `) by
` + "`go test ./docs -update`" + `; do not edit. The law is cut into its sentences, list items and rows, in its own
words. The check behind this page fails when one of them has no entry, when its words changed, and when a test is not
there, is not run by ` + "`make test`" + ` or can be skipped. Tests of the console run in ` + "`make check`" + `.
*explains*: there is nothing to prove. *owner*: left open here, decided elsewhere. *unproven*: no test proves it yet.
` + "`make mutants`" + ` asks the other way round: whether a changed rule is noticed.

| law | sentences | proven | explains | owner | unproven |
|---|---|---|---|---|---|
`)
	for _, c := range all {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", c.title, len(c.sentences),
			c.count(""), c.count("explains"), c.count("owner"), c.count("unproven"))
		for _, e := range c.entries {
			for _, name := range e.tests {
				tests[name] = true
			}
		}
	}
	fmt.Fprintf(&b, "\n%d tests and cases.\n\n## Unproven\n\n", len(tests))
	none := true
	for _, c := range all {
		for _, s := range c.sentences {
			if e := c.entries[s.id]; e.word == "unproven" {
				none = false
				fmt.Fprintf(&b, "- `%s`: %s *%s*\n", s.id, s.words, e.why)
			}
		}
	}
	if none {
		b.WriteString("Nothing.\n")
	}
	for _, c := range all {
		section := ""
		for _, s := range c.sentences {
			if s.section != section {
				section = s.section
				fmt.Fprintf(&b, "\n## %s: %s\n\n| id | sentence | proven by |\n|---|---|---|\n", c.title, section)
			}
			e := c.entries[s.id]
			by := make([]string, len(e.tests))
			for i, name := range e.tests {
				by[i] = "`" + name + "`"
			}
			if e.word != "" {
				by = append(by, "*"+e.word+": "+e.why+"*")
			}
			fmt.Fprintf(
				&b,
				"| `%s` | %s | %s |\n",
				s.id,
				strings.ReplaceAll(s.words, "|", "\\|"),
				strings.Join(by, "<br>"),
			)
		}
	}
	return b.String()
}

// --- the check itself ---------------------------------------------------------------

func TestTheCheckOfTheLawSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	const law = "# Calls\n\nA call rings. A call ends.\n\nThis page is short.\n"
	s := cut(law)
	block := func(s sentence, rest string) string { return "\n" + s.id + "\n> " + s.words + "\n" + rest + "\n" }
	head := func(law string) string { return fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(law))) }
	good := head(law) + "\n# Calls\n" + block(s[0], "TestA\nconsole: a call rings") +
		block(s[1], "unproven: nobody waits so long") + block(s[2], "explains: nothing to prove")
	lacks := func(test string) string {
		if test == "TestGone" {
			return "is no test that `make test` runs"
		}
		return ""
	}
	f := func(what, law, list string, want ...string) {
		t.Helper()
		_, wrong := judge(law, list, lacks)
		if len(wrong) != len(want) {
			t.Errorf("%s: %q", what, wrong)
			return
		}
		for i, w := range want {
			if !strings.Contains(wrong[i], w) {
				t.Errorf("%s: %q does not say %q", what, wrong[i], w)
			}
		}
	}
	edit := func(was, is string) string { return strings.Replace(good, was, is, 1) }
	f("all is well", law, good)
	longer := law + "\nA call is paid for.\n"
	f("a sentence is added", longer, good, "first line: "+head(longer)[:20], "add\n\ncalls.")
	changed := strings.Replace(law, "A call ends.", "A call never ends.", 1)
	gone := " is no sentence of the law any more"
	f("a sentence is changed", changed, good, "first line", "> A call never ends.\nTestThatProvesIt", s[1].id+gone)
	f("a sentence is removed", strings.Replace(law, "A call ends.", "", 1), good, "first line", s[1].id+gone)
	f("the words were edited here", law, edit("A call rings.", "A call may ring."), "copy the law")
	f("no test", law, edit("TestA\nconsole: a call rings", ""), "names no test")
	f("a test that is not there", law, edit("TestA\n", "TestA\nTestGone\n"),
		"TestGone is no test that `make test` runs")
	f("the console alone", law, edit("TestA\n", ""), "name one of Go beside them")
	f("eight tests", law, edit("TestA\n", strings.Repeat("TestA\n", 7)), "names 8 tests")
	f("a test and a word", law, edit("TestA\n", "TestA\nunproven: in part\n"), "one or the other")
	f("an unknown word", law, edit("explains: nothing to prove", "obvious"),
		`"obvious" is no test`, "names no test")
	f("a word without a reason", law, edit("unproven: nobody waits so long", "unproven: "),
		`"unproven:" is no test`, "names no test")
	f("twice", law, good+block(s[0], "TestA"), "is there twice")
}
