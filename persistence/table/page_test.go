package table_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"dialler/persistence/table"
)

var update = flag.Bool("update", false, "write the page again")

func TestThePageOfRowsIsInStepWithTheirTable(t *testing.T) {
	var out strings.Builder
	out.WriteString(`# Rows that answer for themselves

Written by ` + "`make docs`" + ` from ` + "`persistence/table/evidence.go`" + `; do not edit.

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
	const page = "../../docs/evidence-rows.md"
	if *update {
		if err := os.WriteFile(page, []byte(out.String()), 0o644); err != nil { //nolint:gosec // as the others are
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != out.String() {
		t.Errorf("docs/evidence-rows.md is out of step (%v): make docs", err)
	}
}
