// Package shipped builds the program as in its image, for tests that start, kill and measure it:
// all of them compile the same packages.
package shipped

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Build writes the program to out. It accepts more flags of go build; -race adds the race detector,
// which needs cgo.
func Build(ctx context.Context, out string, flags ...string) error {
	// A test of bench/lab is in another module, whose versions may be newer.
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "dialler").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	args := append([]string{"build", "-trimpath", "-ldflags=-s", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...) //nolint:gosec // flags of tests
	cmd.Dir = strings.TrimSpace(string(root))
	if !slices.Contains(flags, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, b)
	}
	return nil
}
