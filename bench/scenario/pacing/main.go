// Command pacing measures the ways of pacing in the scenarios of this folder
// and fails when one misses its target. `make bench-pacing` runs it.
//
// The scenarios b1 to b9 and cap… have targets; the g-… are of other kinds, so
// that nothing is built for the first ones alone. All are played with their own
// seeds, and those with targets again with fresh ones.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"time"

	"dialler/engine/pacing/trial"
)

// notes stand at the end of the page: what was tried.
//
//go:embed notes.md
var notes string

func main() {
	out := flag.String("out", "", "file that gets the page; standard output when empty")
	date := flag.String("date", "", "date on the page; today's when empty")
	fresh := flag.Uint64("fresh", 1001, "first of the fresh seeds")
	flag.Parse()
	ok, err := run(*out, *date, *fresh)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-pacing:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(out, date string, fresh uint64) (ok bool, err error) {
	ctx := context.Background()
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
			return false, err
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
		return false, err
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
		tell(fmt.Sprintf("%d targets are missed", misses))
	}
	return misses == 0, nil
}
