package main

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user in the image.
const nobody = 65532

// imageConfig is what the Containerfile says of the image.
func imageConfig() v1.Config {
	return v1.Config{
		User:         "65532:65532",
		Env:          []string{"DIALLER_DATA_DIR=/var/lib/dialler", "DIALLER_LISTEN_HTTP=:8080", "DIALLER_LOG_FORMAT=json"},
		Volumes:      map[string]struct{}{"/var/lib/dialler": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "5060/udp": {}, "5060/tcp": {}},
		StopSignal:   "SIGTERM",
		Entrypoint:   []string{"/usr/local/bin/dialler"},
		Cmd:          []string{"serve"},
		Labels: map[string]string{"org.opencontainers.image.title": "dialler",
			"org.opencontainers.image.description": "An outbound dialler engine for voice bots",
			"org.opencontainers.image.licenses":    "Apache-2.0"},
	}
}

// image is an OCI layout in a tar file, with an image for each architecture: the program, trusted roots, a
// user, nothing else. skopeo, podman and registries read it.
func (r *release) image(built []program, out string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range built {
		img, err := r.imageOf(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.arch}}})
	}
	work, err := os.MkdirTemp("", "dialler-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	to, err := layout.Write(work, empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})
	if err := to.AppendIndex(index, named); err != nil {
		return err
	}
	var list []entry
	err = filepath.WalkDir(work, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(work, path)
		list = append(list, entry{name: filepath.ToSlash(name), mode: 0o644, body: body})
		return err
	})
	if err != nil {
		return err
	}
	packed, err := tarOf(list, r.at)
	if err != nil {
		return err
	}
	path := filepath.Join(out, "dialler-image-"+r.version+".tar")
	return os.WriteFile(path, packed, 0o644) //nolint:gosec // it is published
}

func (r *release) imageOf(p program) (v1.Image, error) {
	body, err := os.ReadFile(p.path)
	if err != nil {
		return nil, err
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // which a file of roots cannot tell
			_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	packed, err := tarOf([]entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, body: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644,
			body: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/var/lib/dialler:/sbin/nologin\n")},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, body: roots.Bytes()},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/local/bin/", mode: 0o755},
		{name: "usr/local/bin/dialler", mode: 0o755, body: body},
		{name: "var/lib/dialler/", mode: 0o700, owner: nobody},
	}, r.at)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed)), nil }
	layer, err := tarball.LayerFromOpener(open,
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", p.arch, v1.Time{Time: r.at}
	file.Config = imageConfig()
	file.Config.Labels["org.opencontainers.image.version"] = r.version
	for i := range file.History {
		file.History[i].Created = file.Created
	}
	return mutate.ConfigFile(img, file)
}
