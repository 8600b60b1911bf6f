package bench_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The judge and the model world share only the engine's vocabulary with the dialler: a mistake in
// the dialler must not be repeated here.
func TestModelWorldSharesNothingWithTheDialler(t *testing.T) {
	allowed := func(path string) bool {
		return path == "dialler/engine" || strings.HasPrefix(path, "dialler/bench/")
	}
	for _, folder := range []string{"carrier", "bot", "voice", "draw", "pace", "await", "admin"} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, e.Name()), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range f.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(path, "dialler/") && !allowed(path) {
					t.Errorf("%s/%s imports %s", folder, e.Name(), path)
				}
				if strings.HasPrefix(path, "github.com/emiago/") {
					t.Errorf("%s/%s imports %s, the dialler's SIP parser", folder, e.Name(), path)
				}
			}
		}
	}
}
