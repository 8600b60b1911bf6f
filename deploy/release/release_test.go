package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// run returns what a command prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output(exec.CommandContext(t.Context(), name, args...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// made makes a release of this tree for this machine's processor.
func made(t *testing.T, key string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	r := release{root: "../..", archs: []string{runtime.GOARCH}, key: key, version: "1.2.3-rc.1", notes: "- Something."}
	when, err := r.git(t.Context(), "log", "-1", "--format=%cI")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.at.UnmarshalText([]byte(when)); err != nil {
		t.Fatal(err)
	}
	r.at = r.at.UTC()
	if err := r.make(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// contents are the files of a folder.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// untar unpacks a tar file, compressed or not, into a folder.
func untar(t *testing.T, packed []byte, dir string) {
	t.Helper()
	var from io.Reader = bytes.NewReader(packed)
	if z, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
		from = z
	}
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name)) //nolint:gosec // an archive of ours
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			var body []byte
			if body, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, body, h.FileInfo().Mode().Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAReleaseIsWholeSignedAndTheSameWhenItIsMadeAgain(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
	first := made(t, key)
	t.Setenv("TZ", "Pacific/Kiritimati")
	t.Setenv("LANG", "tr_TR.UTF-8")
	mask := syscall.Umask(0o077)
	t.Cleanup(func() { syscall.Umask(mask) })
	second := contents(t, made(t, key))
	syscall.Umask(mask)
	files := contents(t, first)
	for name, body := range files {
		if !bytes.Equal(body, second[name]) {
			t.Errorf("%s differs when it is made again", name)
		}
	}
	arch := runtime.GOARCH
	rpmArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch]
	names := []string{"NOTES.md", "SHA256SUMS", "SHA256SUMS.sig", "dialler-1.2.3~rc.1-1." + rpmArch + ".rpm",
		"dialler-chart-1.2.3-rc.1.tgz", "dialler-image-1.2.3-rc.1.tar", "dialler_1.2.3-rc.1_linux_" + arch + ".cdx.json",
		"dialler_1.2.3-rc.1_linux_" + arch + ".tar.gz", "dialler_1.2.3~rc.1_" + arch + ".deb"}
	var got []string
	for name := range files {
		got = append(got, name)
	}
	if slices.Sort(got); !slices.Equal(got, names) || len(second) != len(files) {
		t.Fatalf("%q, want %q", got, names)
	}
	file := func(has string) string {
		return filepath.Join(first, names[slices.IndexFunc(names, func(n string) bool {
			return strings.Contains(n, has)
		})])
	}

	t.Run("the digests are signed", func(t *testing.T) { signed(t, first, key) })
	root := t.TempDir()
	run(t, "dpkg-deb", "-x", file(".deb"), root)
	program := text(t, root, "usr/bin/dialler")
	t.Run("the Debian package", func(t *testing.T) { debian(t, file(".deb"), root) })
	t.Run("the RPM package", func(t *testing.T) { rpm(t, file(".rpm"), root) })
	t.Run("the archive", func(t *testing.T) {
		dir := t.TempDir()
		untar(t, files[filepath.Base(file(".tar.gz"))], dir)
		folder := filepath.Join(dir, "dialler_1.2.3-rc.1_linux_"+arch)
		if text(t, folder, "dialler") != program || text(t, folder, "LICENSE") != text(t, "../../LICENSE") {
			t.Error("it has another program")
		}
		if said := run(t, filepath.Join(folder, "dialler"), "version"); !strings.HasPrefix(said, "dialler ") {
			t.Errorf("version: %s", said)
		}
	})
	t.Run("the image", func(t *testing.T) { image(t, files[filepath.Base(file("image"))], program) })
	t.Run("the chart", func(t *testing.T) { chart(t, file("chart")) })
	t.Run("the parts", func(t *testing.T) { parts(t, files[filepath.Base(file(".cdx"))]) })
}

// signed verifies the digests and their signature as docs/operations.md tells users to.
func signed(t *testing.T, dir, key string) {
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "--quiet", sumsFile)
	check.Dir = dir
	if _, err := output(check); err != nil {
		t.Error(err)
	}
	if n := strings.Count(text(t, dir, sumsFile), "\n"); n != 7 {
		t.Errorf("%d files have a digest", n)
	}
	allowed := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(allowed, []byte("dialler "+text(t, key+".pub")), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := func(sums []byte) error {
		cmd := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "dialler", "-n", purpose,
			"-s", filepath.Join(dir, sumsFile+".sig"))
		cmd.Stdin = bytes.NewReader(sums)
		_, err := output(cmd)
		return err
	}
	sums := []byte(text(t, dir, sumsFile))
	if err := verify(sums); err != nil {
		t.Error(err)
	}
	sums[0] ^= 1
	if verify(sums) == nil {
		t.Error("the signature holds for other digests")
	}
}

func debian(t *testing.T, deb, root string) {
	fields := run(t, "dpkg-deb", "-f", deb)
	for _, want := range []string{"Package: dialler", "Version: 1.2.3~rc.1", "Architecture: " + runtime.GOARCH,
		"Depends: systemd", "Section: comm"} {
		if !strings.Contains(fields+"\n", want+"\n") {
			t.Errorf("no %q in\n%s", want, fields)
		}
	}
	if kept := run(t, "dpkg-deb", "-I", deb, "conffiles"); kept != "/etc/dialler/dialler.env\n/etc/dialler/dialler.yaml" &&
		kept != "/etc/dialler/dialler.yaml\n/etc/dialler/dialler.env" {
		t.Errorf("settings that an update keeps: %q", kept)
	}
	list := run(t, "dpkg-deb", "-c", deb)
	for path, mode := range map[string]string{"./usr/bin/dialler": "-rwxr-xr-x", "./etc/dialler/dialler.env": "-rw-------",
		"./etc/dialler/dialler.yaml": "-rw-r--r--"} {
		if !regexp.MustCompile(`(?m)^` + mode + ` root/root .* ` + regexp.QuoteMeta(path) + `$`).MatchString(list) {
			t.Errorf("%s is not %s of root:\n%s", path, mode, list)
		}
	}
	for _, unit := range []string{"dialler.service", "dialler-audit.service"} {
		if body := text(t, root, "usr/lib/systemd/system", unit); strings.Contains(body, "/usr/local") ||
			!strings.Contains(body, "ExecStart=/usr/bin/dialler ") {
			t.Errorf("%s:\n%s", unit, body)
		}
	}
	if text(t, root, "usr/lib/sysusers.d/dialler.conf") != text(t, "../systemd/dialler.sysusers.conf") {
		t.Error("another user")
	}
	for _, script := range []string{"postinst", "prerm"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-n")
		cmd.Stdin = strings.NewReader(run(t, "dpkg-deb", "-I", deb, script))
		if _, err := output(cmd); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// rpm holds the RPM package against the Debian one.
func rpm(t *testing.T, pkg, root string) {
	home := t.TempDir()
	ask := func(args ...string) string { return run(t, "rpm", append([]string{"--dbpath", home}, args...)...) }
	if got := ask("-qp", "--qf", "%{NAME} %{VERSION} %{RELEASE} %{LICENSE} %{BUILDHOST}", pkg); got !=
		"dialler 1.2.3~rc.1 1 Apache-2.0 localhost" {
		t.Errorf("%q", got)
	}
	if got := ask("-Kv", "--nosignature", pkg); strings.Contains(got, "BAD") {
		t.Error(got)
	}
	if got := ask("-qpc", pkg); got != "/etc/dialler/dialler.env\n/etc/dialler/dialler.yaml" {
		t.Errorf("settings: %q", got)
	}
	of := func(name string) [32]byte { return sha256.Sum256([]byte(text(t, root, name))) }
	files := ask("-qp", "--qf", "[%{FILENAMES} %{FILEMODES:perms} %{FILEDIGESTS}\n]", pkg)
	for _, line := range strings.Split(files, "\n") {
		name, rest, _ := strings.Cut(line, " ")
		mode, digest, _ := strings.Cut(rest, " ")
		if want := of(name); digest != hexOf(want) || name == "/usr/bin/dialler" && mode != "-rwxr-xr-x" ||
			name == "/etc/dialler/dialler.env" && mode != "-rw-------" {
			t.Errorf("%s", line)
		}
	}
}

// image checks all of the image's digests, and that it is what the Containerfile makes.
func image(t *testing.T, packed []byte, program string) {
	dir := t.TempDir()
	untar(t, packed, dir)
	p, err := layout.FromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := p.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 ||
		manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3-rc.1" {
		t.Fatalf("%+v, %v", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil || len(inner.Manifests) != 1 || inner.Manifests[0].Platform.Architecture != runtime.GOARCH {
		t.Fatalf("%+v, %v", inner, err)
	}
	img, err := index.Image(inner.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	said := strings.ReplaceAll(text(t, "../container/Containerfile"), " \\\n", " ")
	_, said, _ = strings.Cut(said[strings.LastIndex(said, "\nFROM "):], "\n")
	c := file.Config
	for _, want := range slices.Concat([]string{"USER " + c.User, "STOPSIGNAL " + c.StopSignal,
		`ENTRYPOINT ["` + c.Entrypoint[0] + `"]`, `CMD ["` + c.Cmd[0] + `"]`, `VOLUME ["/var/lib/dialler"]`}, c.Env) {
		if !strings.Contains(said, want) {
			t.Errorf("the Containerfile does not say %s", want)
		}
	}
	for port := range c.ExposedPorts {
		if !regexp.MustCompile(`(?m)^EXPOSE .*\b` + port + `\b`).MatchString(said) {
			t.Errorf("the Containerfile does not name the port %s", port)
		}
	}
	if lines := len(regexp.MustCompile(`(?m)^(USER|ENV|VOLUME|EXPOSE|STOPSIGNAL|ENTRYPOINT|CMD|LABEL) `).
		FindAllString(said, -1)); lines != 8 {
		t.Errorf("the Containerfile has %d such lines; imageConfig knows eight", lines)
	}
	root := t.TempDir()
	flat, err := io.ReadAll(mutate.Extract(img))
	if err != nil {
		t.Fatal(err)
	}
	untar(t, flat, root)
	if text(t, root, "usr/local/bin/dialler") != program {
		t.Error("it has another program")
	}
	if n := strings.Count(text(t, root, "etc/ssl/certs/ca-certificates.crt"), "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("it trusts %d roots", n)
	}
}

func chart(t *testing.T, packed string) {
	helm, err := filepath.Abs("../../bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(helm); err != nil {
		t.Skip("make deps fetches Helm for Linux on x86-64 only")
	}
	said := run(t, helm, "show", "chart", packed)
	if !strings.Contains(said, "\nversion: 1.2.3-rc.1") || !strings.Contains(said, "appVersion: 1.2.3-rc.1") {
		t.Error(said)
	}
	objects := run(t, helm, "template", "dialler", packed, "--set=image.repository=registry.example.com/dialler",
		"--set=database.existingSecret=database")
	if !strings.Contains(objects, "image: registry.example.com/dialler:1.2.3-rc.1\n") {
		t.Errorf("the image has another version:\n%s", regexp.MustCompile(`image: .*`).FindString(objects))
	}
}

func parts(t *testing.T, body []byte) {
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(body), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range *bom.Components {
		if seen[c.PackageURL] || c.Version == "" || !strings.HasPrefix(c.PackageURL, "pkg:") {
			t.Errorf("%+v", c)
		}
		seen[c.PackageURL] = true
		seen[c.Name] = true
	}
	for _, want := range []string{"std", "github.com/jackc/pgx/v5", "github.com/asynkron/protoactor-go",
		"github.com/emiago/sipgo", "github.com/valyala/fasthttp", "react"} {
		if !seen[want] {
			t.Errorf("%s is missing", want)
		}
	}
	for _, tool := range []string{"vite", "typescript", "github.com/goreleaser/nfpm/v2"} {
		if seen[tool] {
			t.Errorf("%s is in no program", tool)
		}
	}
}

func TestAVersionIsOneOfTheChangelog(t *testing.T) {
	const changelog = "# Changelog\n\n## v1.1.0, 2030-02-01\n\n- New.\n- Newer.\n\n## v1.1.0-rc.1\n\n- Tried.\n\n" +
		"## v1.0.0\n- Old.\n"
	for version, want := range map[string]string{"v1.1.0": "- New.\n- Newer.", "v1.1.0-rc.1": "- Tried.",
		"v1.0.0": "- Old.", "v1.1": "", "v2.0.0": ""} {
		if got := notesOf(changelog, version); got != want {
			t.Errorf("%s: %q", version, got)
		}
	}
	r := release{root: "../.."}
	for _, version := range []string{"", "1.0.0", "v1.0", "v1.0.0 ", "v1.0.0/..", "v1.0.0-"} {
		if err := r.of(t.Context(), version); err == nil || !strings.Contains(err.Error(), "v0.1.0") {
			t.Errorf("%q: %v", version, err)
		}
	}
	if err := r.of(t.Context(), "v999.0.0"); err == nil || !strings.Contains(err.Error(), "## v999.0.0, ") {
		t.Errorf("%v", err)
	}
}

// A release of another commit, or of what nobody has committed, would not be what its version says.
func TestOnlyTheTaggedCommitIsReleased(t *testing.T) {
	dir := t.TempDir()
	r := release{root: dir}
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"}, args...)
		if _, err := r.git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	changelog := []byte("## v1.0.0, 2030-01-02\n\n- One.\n")
	if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), changelog, 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-q", "-m", "one")
	if err := r.of(t.Context(), "v1.0.0"); err != nil || r.notes != "- One." || r.at.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := r.tagged(t.Context()); err == nil || !strings.Contains(err.Error(), "git tag v1.0.0") {
		t.Errorf("%v", err)
	}
	git("tag", "v1.0.0")
	if err := r.tagged(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.tagged(t.Context()); err == nil || !strings.Contains(err.Error(), "more") {
		t.Errorf("%v", err)
	}
	if err := r.make(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("%v", err)
	}
}

func hexOf(digest [32]byte) string { return hex.EncodeToString(digest[:]) }
