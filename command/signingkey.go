package command

import (
	"fmt"
	"os"

	"github.com/rs/zerolog"

	"dialler/process"
	"dialler/process/keys"
)

type keyShowCmd struct {
	storeFlags `embed:""`
}

// Run prints the public half of the key, which it makes if there is none; it needs no database.
func (k *keyShowCmd) Run() error {
	dir, err := process.DataDir(k.DataDir, k.Instance)
	if err != nil {
		return err
	}
	key, err := keys.Signing(k.SigningKey, dir)
	if err != nil {
		return err
	}
	if file, err := k.keyFile(); err == nil {
		if r, ok, err := keys.Interrupted(file); ok && err == nil {
			fmt.Fprintf(os.Stderr, "a change to the key %s is under way, or was interrupted: dialler key rotate completes it\n",
				r.Next.Public().Fingerprint())
		}
	}
	fmt.Printf("%s\n%s", key.Public().Fingerprint(), key.Public().PEM())
	return nil
}

type keyRotateCmd struct {
	storeFlags `embed:""`
	New        string `name:"new" help:"${help_key_rotate_new}" type:"existingfile" placeholder:"FILE"`
}

// Run puts another signing key in force.
func (k *keyRotateCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	if err := k.there(); err != nil {
		return err
	}
	file, err := k.keyFile()
	if err != nil {
		return err
	}
	dir, err := process.DataDir(k.DataDir, k.Instance)
	if err != nil {
		return err
	}
	s, done, err := k.openToRead(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	next, former, err := process.RotateKey(ctx, s, file, k.New, dir, log)
	if err != nil {
		return err
	}
	fmt.Printf("signing with the key %s now; the former one is kept as %s\n", next.Public().Fingerprint(), former)
	return nil
}
