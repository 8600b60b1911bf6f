// Package pacing measures the pacing policies in the scenarios of this folder and fails when one
// misses its target. `make bench-pacing` runs it.
//
// The scenarios b1 to b9 and cap… have targets; the g-… are of other kinds, so that nothing is
// optimised for the first ones alone. All are played with their own seeds, and those with targets
// again with fresh ones.
package pacing

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"time"

	"dialler/engine/pacing/trial"
)

// notes stand at the end of the page: what was tried.
//
//go:embed notes.md
var notes string

// Run writes the page to the file out, or to standard output when that is empty. date is the date
// on the page, today's when empty; fresh is the first of the fresh seeds. A missed target is an
// error.
func Run(ctx context.Context, out, date string, fresh uint64) (err error) {
	tell := func(s string) { fmt.Fprintln(os.Stderr, s) }
	blocks := []block{
		{title: "The benchmark", mean: true},
		{title: fmt.Sprintf("The benchmark with fresh seeds, from %d on", fresh), mean: true},
		{title: "Other kinds of scenarios"},
	}
	for i, cases := range [][]kase{benchmark, benchmark, general} {
		seeds := uint64(0)
		if i == 1 {
			seeds = fresh
		}
		tell(blocks[i].title)
		if blocks[i].rows, err = measure(ctx, cases, seeds, nil, tell); err != nil {
			return err
		}
	}
	if date == "" {
		date = time.Now().Format(time.DateOnly)
	}
	progressive, hybrid := speed(trial.Progressive, time.Now), speed(trial.Hybrid, time.Now)
	page := write(date, blocks, progressive, hybrid, notes)
	if out == "" {
		fmt.Print(page)
	} else if err := os.WriteFile(out, []byte(page), 0o600); err != nil {
		return err
	}
	misses := 0
	for i := range blocks {
		for j := range blocks[i].rows {
			misses += len(blocks[i].rows[j].misses)
		}
		if blocks[i].mean {
			_, _, m := means(blocks[i].rows)
			misses += len(m)
		}
	}
	if misses > 0 {
		return fmt.Errorf("%d targets are missed", misses)
	}
	return nil
}
