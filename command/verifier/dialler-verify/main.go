// Command dialler-verify checks a record of a run, as "dialler verify evidence" does, without a dialler.
package main

import (
	"flag"
	"fmt"
	"os"

	"dialler/command/verifier"
	"dialler/engine"
)

func main() {
	key := flag.String("key", "", "the installation's public key in PEM, which must have signed the file")
	asJSON := flag.Bool("json", false, "print the manifest and what is wrong as JSON")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "dialler-verify [--key PUBLIC] [--json] FILE\n\n"+
			"Exits with 0 if the file is whole and signed with the key, with 1 if anything is wrong, and with 2 if\n"+
			"it is whole and no key was given to say by whom.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(64)
	}
	if err := verifier.Verify(flag.Arg(0), *key, *asJSON, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dialler-verify:", err)
		if engine.ErrorCode(err) == "signer_unknown" {
			os.Exit(2)
		}
		os.Exit(1)
	}
}
