package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	sumsFile = "SHA256SUMS"
	// purpose is the name space of the signature: one that was made for something else is not taken.
	purpose = "dialler-release"
)

// sums writes the digests of all files in a folder, as sha256sum reads them, and signs them.
func (r *release) sums(ctx context.Context, out string) error {
	list, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range list {
		body, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(body), e.Name())
	}
	path := filepath.Join(out, sumsFile)
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil { //nolint:gosec // it is published
		return err
	}
	if r.key == "" {
		return nil
	}
	_, err = output(exec.CommandContext(ctx, "ssh-keygen", "-q", "-Y", "sign", "-f", r.key, "-n", purpose, path))
	return err
}
