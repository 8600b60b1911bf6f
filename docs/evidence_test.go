package docs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"dialler/persistence/table"
)

func TestThePageOfRowsIsInStepWithTheirTable(t *testing.T) {
	var out strings.Builder
	out.WriteString(`# Rows that answer for themselves

Written by ` + "`go test ./docs -update`" + ` from ` + "`persistence/table/evidence.go`" + `; do not edit.

Every transaction that writes one of these rows leaves a digest of the row, under the
installation's key, in its batch of the chain (see [evidence](evidence.md)). An audit makes each
digest anew from the row that it finds: a row that was changed, removed, added, or put back as it
was before is named. The digest covers every column but those in the last column of the table.

| rows | must have one | columns that are not covered, and why |
|---|---|---|
`)
	for _, p := range table.Parts {
		of := p.Name
		if p.Only != nil {
			of = p.Table + ": " + strings.Join(p.Only, ", ")
		}
		must := "every one"
		switch {
		case p == table.PartQuality:
			must = "of a call that has ended and had media"
		case p == table.PartContact:
			must = "of a contact that is in no call"
		case p.InCall != "":
			must = "of a call that has ended"
		case p == table.PartReview:
			must = "that somebody labelled"
		case p == table.PartImport:
			must = "that became contacts"
		}
		var not []string
		for _, c := range slices.Sorted(maps.Keys(p.Not)) {
			not = append(not, "`"+c+"`: "+p.Not[c])
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", of, must, cmp.Or(strings.Join(not, "; "), "–"))
	}
	out.WriteString("\nThese tables have none:\n\n| table | why |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(table.NotEvidence)) {
		fmt.Fprintf(&out, "| `%s` | %s |\n", name, table.NotEvidence[name])
	}
	inStep(t, "evidence-rows.md", out.String())
}
