package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// columnCap is how long a line may be; a tab counts as one.
const columnCap = 120

const ran = "a migration that has run somewhere is not edited"

// longLines are the files that may have longer lines, and why.
var longLines = map[string]string{
	"http/console/src/api/schema.ts":                   "generated",
	"persistence/migrations/00001_tables.sql":          ran,
	"persistence/migrations/00013_trunks.sql":          ran,
	"persistence/migrations/00020_chain.sql":           ran,
	"persistence/migrations/00034_import_requests.sql": ran,
}

func TestNoLineIsLongerThan120Columns(t *testing.T) {
	read, long := 0, map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "node_modules", "dist", "node"}, d.Name()) {
			return filepath.SkipDir
		}
		path = filepath.ToSlash(path)
		kinds := []string{".go", ".mk", ".sql", ".sh", ".ts", ".tsx", ".mjs", ".js", ".css"}
		bounded := path == "Makefile" || slices.Contains(kinds, filepath.Ext(path))
		if d.IsDir() || !bounded || strings.HasSuffix(path, ".gen.ts") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for n, line := range strings.Split(string(text), "\n") {
			columns := utf8.RuneCountInString(line)
			if columns <= columnCap {
				continue
			}
			if long[path] = true; longLines[path] == "" {
				t.Errorf("%s:%d has %d columns: break it", path, n+1, columns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 1000 {
		t.Errorf("only %d files were read", read)
	}
	for path, why := range longLines {
		if !long[path] {
			t.Errorf("%s (%s) has no long line any more: take it off the list", path, why)
		}
	}
}
