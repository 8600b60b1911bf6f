package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// ownedByTheCores are types whose values belong to the run, the call or the store: a field of such
// a type in this package would be the start of a second implementation.
var ownedByTheCores = map[string]bool{
	"campaign.Settings": true, "campaign.Machine": true, "contact.Machine": true, "attempt.Machine": true,
	"pacing.Books": true, "pacing.Model": true,
	"call.Rules": true, "run.Line": true, "run.SeatState": true, "run.Queue": true, "tally.Tally": true,
	"exclusion.Book": true,
}

// mayKeep are the permitted fields, each with its reason.
var mayKeep = map[string]string{
	"checker.callsIn":       "which calls back live, by which the checker judges",
	"campaignRecord.asked":  "who asked not to be called, by which the checker judges",
	"CampaignPlan.Settings": "what a user asks to be simulated",
	"runner.contacts":       "where messages to contacts go: each is a call.Contact",
	"process.owned":         "answers run.Process.Owned",
	"callsIn.calls":         "where messages to calls that came in go: each is a call.Dialout",
	"process.port":          "legs that the process can be asked for",
	"process.media":         "media paths: the audio, and the bot's socket",
	"hours.noted":           "which ends were learned from, as the database's mark tells the learner",
	"watched.attached":      "bots on the network, by which the checker judges",
}

func TestTheSimulatorKeepsNoRuleOfItsOwn(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	look := func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range s.Fields.List {
			for _, name := range namesOf(f) {
				field := spec.Name.Name + "." + name
				if what := coreType(f.Type); what != "" {
					kept[field] = true
					if mayKeep[field] == "" {
						t.Errorf("%s holds %s, which belongs to a core", field, what)
					}
				}
			}
		}
		return true
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, look)
	}
	for field := range mayKeep {
		if !kept[field] {
			t.Errorf("%s may be kept, but there is no such field", field)
		}
	}
}

// namesOf are the names of a field; an embedded field has the name of its type.
func namesOf(f *ast.Field) (names []string) {
	for _, name := range f.Names {
		names = append(names, name.Name)
	}
	if len(names) == 0 {
		of := types.ExprString(f.Type)
		names = append(names, of[strings.LastIndexAny(of, "*.")+1:])
	}
	return names
}

// coreType names the core type in a field's type, or a map keyed by contact or attempt, in which
// lines and seats could be stored; "" when there is none.
func coreType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return coreType(e.X)
	case *ast.ArrayType:
		return coreType(e.Elt)
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok && ownedByTheCores[pkg.Name+"."+e.Sel.Name] {
			return pkg.Name + "." + e.Sel.Name
		}
	case *ast.MapType:
		if key, ok := e.Key.(*ast.SelectorExpr); ok && (key.Sel.Name == "ContactID" || key.Sel.Name == "AttemptID") {
			return "a map by " + key.Sel.Name
		}
		return coreType(e.Value)
	}
	return ""
}
