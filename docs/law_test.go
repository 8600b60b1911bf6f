package docs

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// sentence is one sentence of a law in its own words. In a table row, the first sentence of the
// last cell is preceded by the other cells, and each later one by the row's name.
type sentence struct {
	id      string // the heading's slug and a hash of the words
	section string // the headings above it
	words   string
}

var (
	listMark = regexp.MustCompile(`^(- |\d+\. )`)
	noSlug   = regexp.MustCompile(`[^a-z0-9]+`)
	rule     = regexp.MustCompile(`^\|[-| :]+\|$`)
)

// cut returns the sentences, list items and rows of a page in order.
func cut(page string) []sentence {
	var all []sentence
	var block []string
	headings := []string{"", ""}
	tell := func(words string) {
		name := headings[1]
		if name == "" {
			name = headings[0]
		}
		slug := strings.Trim(noSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
		slug = strings.TrimRight(slug[:min(len(slug), 40)], "-")
		section := strings.Trim(headings[0]+" / "+headings[1], " /")
		all = append(all, sentence{fmt.Sprintf("%s.%.3x", slug, sha256.Sum256([]byte(section+words))), section, words})
	}
	flush := func() {
		for _, s := range split(strings.Join(block, " ")) {
			tell(s)
		}
		block = nil
	}
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		level := len(line) - len(strings.TrimLeft(line, "#"))
		switch {
		case level > 0:
			flush()
			if name := strings.TrimSpace(line[level:]); level < 3 {
				headings = []string{name, ""}
			} else {
				headings[1] = name
			}
		case strings.HasPrefix(line, "|"):
			flush()
			if header := i+1 < len(lines) && rule.MatchString(strings.TrimSpace(lines[i+1])); header ||
				rule.MatchString(line) {
				continue
			}
			cells := cellsOf(line)
			last := len(cells) - 1
			for n, s := range split(cells[last]) {
				before := cells[:last]
				if n > 0 {
					before = cells[:1]
				}
				tell(strings.Join(append(append([]string{}, before...), s), " | "))
			}
		case line == "":
			flush()
		default:
			if mark := listMark.FindString(line); mark != "" {
				flush()
				line = line[len(mark):]
			}
			block = append(block, line)
		}
	}
	flush()
	return all
}

// cellsOf returns the cells of a row; a bar between backticks is part of the text.
func cellsOf(row string) []string {
	cells, code := []string{""}, false
	for _, r := range strings.Trim(row, "|") {
		if r == '`' {
			code = !code
		}
		if r == '|' && !code {
			cells = append(cells, "")
			continue
		}
		cells[len(cells)-1] += string(r)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// split splits sentences at a full stop and a space, outside code and brackets.
func split(text string) []string {
	var all []string
	depth, code, from := 0, false, 0
	for i, r := range text {
		switch {
		case r == '`':
			code = !code
		case code:
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == '.' || r == '?' || r == '!':
			if depth == 0 && strings.HasPrefix(text[i+1:], " ") {
				all = append(all, strings.TrimSpace(text[from:i+1]))
				from = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(text[from:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

func TestAPageIsCutIntoItsSentencesListItemsAndRows(t *testing.T) {
	page := `# Title

One sentence
over two lines. Another: ` + "`a. b`" + ` (c. d) 1.5 s?

## Part one

- item ` + "`[0, 1)`" + ` one. Its second.
- item two
1. numbered

### Sub-part

| name | rule |
|---|---|
| x | First. Second; still. |
| y ` + "`a|b`" + ` | - |
`
	want := []string{
		"title: One sentence over two lines.", "title: Another: `a. b` (c. d) 1.5 s?",
		"part-one: item `[0, 1)` one.", "part-one: Its second.", "part-one: item two", "part-one: numbered",
		"sub-part: x | First.", "sub-part: x | Second; still.", "sub-part: y `a|b` | -",
	}
	var got []string
	ids := map[string]bool{}
	for _, s := range cut(page) {
		slug, _, _ := strings.Cut(s.id, ".")
		got = append(got, slug+": "+s.words)
		ids[s.id] = true
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(ids) != len(want) {
		t.Errorf("%d ids of\n%s\nwant\n%s", len(ids), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
