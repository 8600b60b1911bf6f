// Package shipped builds the program as its image has it, for tests that start,
// kill and measure it: all of them compile the same packages.
package shipped

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
)

// Build writes the program to out. More flags of go build may be given; with -race
// it has the race detector, which needs cgo.
func Build(ctx context.Context, out string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-ldflags=-s", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "dialler")...) //nolint:gosec // flags of tests
	if !slices.Contains(flags, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, b)
	}
	return nil
}
