package main

import (
	"crypto/sha1" //nolint:gosec // the digest of a name, as RFC 9562 §5.5 has it
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// parts lists what a program is made of: the modules that the go command has stamped into it, and the
// libraries of the console, by the lock file that it was built from.
func (r *release) parts(p program, out string) error {
	info, err := buildinfo.ReadFile(p.path)
	if err != nil {
		return err
	}
	std := strings.TrimPrefix(info.GoVersion, "go")
	components := []cyclonedx.Component{{Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: std,
		PackageURL: "pkg:golang/std@" + std}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		components = append(components, cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: d.Path,
			Version: d.Version, PackageURL: "pkg:golang/" + d.Path + "@" + d.Version})
	}
	console, err := r.consoleParts()
	if err != nil {
		return err
	}
	components = append(components, console...)
	for i := range components {
		components[i].BOMRef = components[i].PackageURL
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuidOf("dialler "+r.version+" "+p.arch)
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.at.Format(time.RFC3339), Component: &cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, BOMRef: "dialler", Name: "dialler", Version: r.version,
		Properties: &[]cyclonedx.Property{{Name: "arch", Value: p.arch}}}}
	bom.Components = &components
	f, err := os.Create(filepath.Join(out, "dialler_"+r.version+"_linux_"+p.arch+".cdx.json"))
	if err != nil {
		return err
	}
	e := cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON)
	e.SetPretty(true)
	if err := e.Encode(bom); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// consoleParts are the libraries that the console's files have in them.
func (r *release) consoleParts() (list []cyclonedx.Component, err error) {
	text, err := r.read("http/console/package-lock.json")
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version  string
			Dev      bool
			Optional bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	for path, p := range lock.Packages {
		i := strings.LastIndex(path, "node_modules/")
		if i < 0 || p.Dev || p.Optional {
			continue
		}
		name := path[i+len("node_modules/"):]
		list = append(list, cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: p.Version,
			PackageURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version})
	}
	slices.SortFunc(list, func(a, b cyclonedx.Component) int { return strings.Compare(a.PackageURL, b.PackageURL) })
	return slices.CompactFunc(list, func(a, b cyclonedx.Component) bool { return a.PackageURL == b.PackageURL }), nil
}

// uuidOf is the UUID of a name (RFC 9562 §5.5), in the name space of URLs.
func uuidOf(name string) string {
	space := []byte{0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	h := sha1.Sum(append(space, name...)) //nolint:gosec // see above
	b := h[:16]
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
