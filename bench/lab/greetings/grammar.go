package greetings

import (
	_ "embed"
	"math/rand/v2"
	"slices"
	"strings"
)

var (
	//go:embed phrases.txt
	phrases string
	//go:embed grammar.txt
	grammar string
	//go:embed tongues.txt
	tongues string
	//go:embed more.txt
	more string
	//go:embed answers.txt
	answers string
	//go:embed unseen.txt
	unseen string
)

// depth is how deeply rules may be nested; anything deeper is a mistake in the files.
const depth = 12

// rules are the phrases: by language, then by name, the alternatives.
type rules map[string]map[string][]string

// parse reads files of rules.
func parse(files ...string) rules {
	all := rules{}
	for _, file := range files {
		for line := range strings.Lines(file) {
			lang, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
			name, text, _ := strings.Cut(rest, " ")
			if !ok || lang == "#" {
				continue
			}
			if all[lang] == nil {
				all[lang] = map[string][]string{}
			}
			for alternative := range strings.SplitSeq(text, " / ") {
				all[lang][name] = append(all[lang][name], strings.TrimSpace(alternative))
			}
		}
	}
	return all
}

// seen contains what people and machines say in training; apart contains what they say for
// measuring.
func seen() rules  { return parse(phrases, grammar, tongues, more, answers) }
func apart() rules { return parse(unseen) }

// say draws a text of a kind; empty when the language has none. A text with many parts is drawn
// more often, because it rarely repeats itself.
func (g rules) say(r *rand.Rand, lang, kind string) string {
	var of []string
	for _, text := range g[lang][kind] {
		for range 1 + strings.Count(text, "{") {
			of = append(of, text)
		}
	}
	if len(of) == 0 {
		return ""
	}
	return sentence(g.expand(r, g[lang], of[r.IntN(len(of))], 0))
}

func (g rules) expand(r *rand.Rand, of map[string][]string, text string, level int) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		out.WriteString(before)
		if !ok || level > depth {
			return out.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		if choices := of[name]; len(choices) > 0 {
			out.WriteString(g.expand(r, of, choices[r.IntN(len(choices))], level+1))
		}
		text = after
	}
}

// sentence repairs the seams left by joining parts: "Hello.," and ".."
func sentence(text string) string {
	return strings.NewReplacer("..", ".", "?.", "?", "!.", "!", ".,", ",", ",,", ",", "?,", ",").Replace(text)
}

// languages lists the languages that have a rule of that name, in order.
func (g rules) languages(kind string) []string {
	var all []string
	for lang, of := range g {
		if len(of[kind]) > 0 {
			all = append(all, lang)
		}
	}
	slices.Sort(all)
	return all
}
