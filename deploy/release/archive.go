package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// entry is a file or, where the name ends with a slash, a folder of an archive.
type entry struct {
	name  string
	mode  int64
	owner int
	body  []byte
}

// tarOf packs entries in their order, all with one time.
func tarOf(list []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range list {
		h := tar.Header{Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.body)), ModTime: at,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// writeTarball packs and compresses entries into a file.
func (r *release) writeTarball(path string, list []entry) error {
	packed, err := tarOf(list, r.at)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(packed); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644) //nolint:gosec // it is published
}

// read reads a file of the tree.
func (r *release) read(path string) ([]byte, error) { return os.ReadFile(filepath.Join(r.root, path)) }

// archive is the program with what its installation by hand needs.
func (r *release) archive(p program, out string) error {
	name := "dialler_" + r.version + "_linux_" + p.arch
	body, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	list := []entry{{name: name + "/dialler", mode: 0o755, body: body}}
	files := []string{"LICENSE", "README.md", "CHANGELOG.md", "docs/operations.md"}
	units, err := filepath.Glob(filepath.Join(r.root, "deploy/systemd/*"))
	if err != nil {
		return err
	}
	for _, u := range units {
		files = append(files, "deploy/systemd/"+filepath.Base(u))
	}
	for _, f := range files {
		if body, err = r.read(f); err != nil {
			return err
		}
		list = append(list, entry{name: name + "/" + f, mode: 0o644, body: body})
	}
	return r.writeTarball(filepath.Join(out, name+".tar.gz"), list)
}

// chartVersions are the lines of Chart.yaml that a release sets.
var chartVersions = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart is the Helm chart with the version.
func (r *release) chart(out string) error {
	const folder = "deploy/helm"
	var list []entry
	err := filepath.WalkDir(filepath.Join(r.root, folder, "dialler"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if d.Name() == "Chart.yaml" {
			body = chartVersions.ReplaceAllFunc(body, func(line []byte) []byte {
				key, _, _ := bytes.Cut(line, []byte(":"))
				return fmt.Appendf(nil, "%s: %q", key, r.version)
			})
		}
		name, err := filepath.Rel(filepath.Join(r.root, folder), path)
		list = append(list, entry{name: filepath.ToSlash(name), mode: 0o644, body: body})
		return err
	})
	if err != nil {
		return err
	}
	return r.writeTarball(filepath.Join(out, "dialler-chart-"+r.version+".tgz"), list)
}
