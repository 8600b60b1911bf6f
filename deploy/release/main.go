// Command release makes the files of a release of the dialler in a folder: for each architecture an
// archive, a Debian and an RPM package and the list of what the program is made of (CycloneDX); an image
// of both architectures, the Helm chart, and the digests of all of them with a signature. It is run in the
// root of the tree, whose console is built; `make release VERSION=v0.1.0` does both.
//
// The same commit gives the same bytes, on any machine with the same Go: nothing in the files tells when,
// where or by whom they were made.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	var r release
	version := flag.String("version", "", "the version, a tag of the commit: v0.1.0")
	out := flag.String("out", "dist", "an empty or new folder for the files")
	flag.StringVar(&r.key, "key", "", "SSH key that signs the digests: the file of a private key, or of a public one "+
		"whose private key the agent holds")
	flag.Parse()
	r.root, r.archs = ".", []string{"amd64", "arm64"}
	err := r.of(ctx, *version)
	if err == nil {
		err = r.tagged(ctx)
	}
	if err == nil {
		err = r.make(ctx, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}
