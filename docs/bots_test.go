package docs

import (
	"os"
	"strings"
	"testing"
)

// The bots on the page are those that the tests run, and short enough to be read there.
func TestTheBotsOnThePageAreTheExamples(t *testing.T) {
	page, err := os.ReadFile("bots.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, path := range map[string]string{"js": "../examples/bot-node/bot.js",
		"python": "../examples/bot-python/bot.py"} {
		program, err := os.ReadFile(path) //nolint:gosec // one of two
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "```"+language+"\n"+string(program)+"```\n") {
			t.Errorf("bots.md has another %s than %s: copy it", language, path)
		}
		if n := strings.Count(string(program), "\n"); n >= 60 {
			t.Errorf("%s has %d lines", path, n)
		}
	}
}
