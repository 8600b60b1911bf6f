package mutants

import (
	"go/ast"
	"strings"
)

// responses mutates the table of final responses: the rows, and which code or cause belongs to
// which row.
func (f *finder) responses(d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			continue
		}
		ast.Inspect(v.Values[0], func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			lit, ok := kv.Value.(*ast.CompositeLit)
			if !ok {
				return true
			}
			key := f.text(kv.Key)
			if strings.HasPrefix(key, "row") {
				f.responseRow(key, lit)
			} else if len(lit.Elts) == 3 {
				f.responseCode(key, lit)
			}
			return false
		})
	}
}

// instead returns the replacement for a value.
func instead(value string, first, second string) string {
	if value == first {
		return second
	}
	return first
}

func (f *finder) responseRow(key string, lit *ast.CompositeLit) {
	consumes := false
	for _, x := range lit.Elts {
		kv, ok := x.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name, value := f.text(kv.Key), f.text(kv.Value)
		other := ""
		switch name {
		case "Outcome":
			other = instead(value, "engine.OutcomeBusy", "engine.OutcomeNoAnswer")
		case "Retry":
			other = instead(value, "RetryNo", "RetryYes")
		case "Fault":
			other = instead(value, "FaultCallee", "FaultNetwork")
		default:
			if value != "true" {
				continue
			}
			other = "false"
		}
		consumes = consumes || name == "Consumes"
		f.add(kv.Value, other, key+": "+name+": "+value+" → "+other)
	}
	if !consumes && len(lit.Elts) > 0 {
		f.add(lit.Elts[0], f.text(lit.Elts[0])+", Consumes: true", key+": Consumes: false → true")
	}
}

func (f *finder) responseCode(key string, lit *ast.CompositeLit) {
	row := f.text(lit.Elts[0])
	other := instead(row, "rowBusy", "rowNoAnswer")
	f.add(lit.Elts[0], other, key+": "+row+" → "+other)
	if adjust := f.text(lit.Elts[2]); adjust != "nil" {
		f.add(lit.Elts[2], "nil", key+": without its adjustment")
	}
}
