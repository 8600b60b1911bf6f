package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is what the files are made of.
type release struct {
	root    string   // of the tree
	version string   // without the v
	archs   []string // as Go names them
	key     string   // signs the digests; "" leaves them unsigned
	at      time.Time
	notes   string // of the changelog
}

// versions are those of semver.org, as Go tags them.
var versions = regexp.MustCompile(`^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$`)

// of reads what the tree says of a version: its notes, and the time of the commit, which all files have.
func (r *release) of(ctx context.Context, version string) error {
	m := versions.FindStringSubmatch(version)
	if m == nil {
		return fmt.Errorf("--version is written v0.1.0, or v0.1.0-rc.1 before it, not %q", version)
	}
	r.version = m[1]
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if r.notes = notesOf(string(text), version); r.notes == "" {
		return fmt.Errorf("CHANGELOG.md has no section of %s: write \"## %s, %s\" in place of \"## Unreleased\"",
			version, version, time.Now().Format(time.DateOnly))
	}
	out, err := r.git(ctx, "log", "-1", "--format=%cI")
	if err != nil {
		return err
	}
	r.at, err = time.Parse(time.RFC3339, out)
	r.at = r.at.UTC()
	return err
}

// notesOf is the section of a version.
func notesOf(changelog, version string) string {
	_, rest, _ := strings.Cut("\n"+changelog, "\n## "+version)
	if rest == "" || rest[0] != ',' && rest[0] != '\n' {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(section)
}

// tagged refuses a tree that is not the commit of the version: the program would not know its own.
func (r *release) tagged(ctx context.Context) error {
	if changed, err := r.git(ctx, "status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, fmt.Errorf("commit or remove first what git status shows:\n%s", changed))
	}
	tags, err := r.git(ctx, "tag", "--points-at", "HEAD")
	if err == nil && !strings.Contains("\n"+tags+"\n", "\nv"+r.version+"\n") {
		err = fmt.Errorf("tag the commit first: git tag v%s", r.version)
	}
	return err
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.root
	return output(cmd)
}

// output runs a command; its error has what it said.
func output(cmd *exec.Cmd) (string, error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// make writes all files into a folder.
func (r *release) make(ctx context.Context, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // it is published
		return err
	}
	if there, err := os.ReadDir(out); err != nil || len(there) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty: name a new folder", out))
	}
	work, err := os.MkdirTemp("", "dialler-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	var built []program
	for _, arch := range r.archs {
		p := program{arch: arch, path: filepath.Join(work, arch, "dialler")}
		if err := r.build(ctx, p); err != nil {
			return err
		}
		built = append(built, p)
	}
	for _, p := range built {
		for _, write := range []func(program, string) error{r.archive, r.packages, r.parts} {
			if err := write(p, out); err != nil {
				return err
			}
		}
	}
	if err := r.image(built, out); err != nil {
		return err
	}
	if err := r.chart(out); err != nil {
		return err
	}
	notes := filepath.Join(out, "NOTES.md")
	if err := os.WriteFile(notes, []byte(r.notes+"\n"), 0o644); err != nil { //nolint:gosec // it is published
		return err
	}
	return r.sums(ctx, out)
}

// program is the dialler of one architecture.
type program struct{ arch, path string }

// build compiles it as the image does, which is what the tests run.
func (r *release) build(ctx context.Context, p program) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s", "-o", p.path, ".")
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOWORK=off")
	_, err := output(cmd)
	return err
}
