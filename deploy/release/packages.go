package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the formats
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	summary = "Outbound dialler engine for voice bots"
	maker   = "The dialler's makers <dialler@invalid>"
)

// What the packages do beside laying down files. Nothing is started: it has to be told its database first.
const (
	afterInstall = `#!/bin/sh
set -e
systemd-sysusers dialler.conf
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
`
	beforeRemove = `#!/bin/sh
set -e
case "$1" in
remove | 0) if [ -d /run/systemd/system ]; then systemctl disable --now dialler.service dialler-audit.timer; fi ;;
esac
`
)

// packages are the Debian and the RPM package: program, units, settings.
func (r *release) packages(p program, out string) error {
	work, err := os.MkdirTemp("", "dialler-package-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	var contents files.Contents
	add := func(source, to, kind string, mode os.FileMode) {
		contents = append(contents, &files.Content{Source: source, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.at}})
	}
	// A unit of a package names the folders of packages.
	unit := func(name, to string) error {
		body, err := r.read("deploy/systemd/" + name)
		if err != nil {
			return err
		}
		text := strings.NewReplacer("/usr/local/bin/", "/usr/bin/", "/usr/local/share/", "/usr/share/").Replace(string(body))
		file := filepath.Join(work, name)
		add(file, to, "", 0o644)
		return os.WriteFile(file, []byte(text), 0o600)
	}
	add(p.path, "/usr/bin/dialler", "", 0o755)
	for name, to := range map[string]string{
		"dialler.service":       "/usr/lib/systemd/system/dialler.service",
		"dialler-audit.service": "/usr/lib/systemd/system/dialler-audit.service",
		"dialler-audit.timer":   "/usr/lib/systemd/system/dialler-audit.timer",
		"dialler.sysusers.conf": "/usr/lib/sysusers.d/dialler.conf",
	} {
		if err := unit(name, to); err != nil {
			return err
		}
	}
	tree := func(path string) string { return filepath.Join(r.root, path) }
	add(tree("deploy/systemd/dialler.yaml"), "/etc/dialler/dialler.yaml", files.TypeConfigNoReplace, 0o644)
	add(tree("deploy/systemd/dialler.env"), "/etc/dialler/dialler.env", files.TypeConfigNoReplace, 0o600)
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "docs/operations.md"} {
		add(tree(name), "/usr/share/doc/dialler/"+filepath.Base(name), files.TypeFile, 0o644)
	}
	scripts := nfpm.Scripts{PostInstall: filepath.Join(work, "after"), PreRemove: filepath.Join(work, "before")}
	for path, text := range map[string]string{scripts.PostInstall: afterInstall, scripts.PreRemove: beforeRemove} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, format := range []string{"deb", "rpm"} {
		info := nfpm.WithDefaults(&nfpm.Info{Name: "dialler", Arch: p.arch, Platform: "linux", Version: r.version,
			Section: "comm", Priority: "optional", Maintainer: maker, Description: summary, License: "Apache-2.0",
			MTime: r.at, DisableGlobbing: true,
			Overridables: nfpm.Overridables{Contents: contents, Scripts: scripts, Depends: []string{"systemd"},
				Umask: 0o022, RPM: nfpm.RPM{BuildHost: "localhost", Summary: summary}}})
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := packager.Package(info, &b); err != nil {
			return err
		}
		path := filepath.Join(out, packager.ConventionalFileName(info))
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil { //nolint:gosec // it is published
			return err
		}
	}
	return nil
}
