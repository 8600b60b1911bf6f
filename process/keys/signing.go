package keys

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dialler/engine/seal"
)

// SigningFile is the file in the data folder. It is not in the database, because the signature must
// expose tampering by anyone who can write to that.
const SigningFile = "signing_key.pem"

// Signing reads the installation's key, and creates it if there is none, readable only by its
// owner. If path is set, the file must exist.
func Signing(path, dataDir string) (seal.Key, error) {
	own := path == ""
	if own {
		path = filepath.Join(dataDir, SigningFile)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the operator's own path
	if own && errors.Is(err, fs.ErrNotExist) {
		if err := makeSigningKey(path); err != nil {
			return seal.Key{}, fmt.Errorf("the signing key %s cannot be created (--signing-key names another): %w", path, err)
		}
		text, err = os.ReadFile(path) //nolint:gosec // the operator's own path
	}
	if err != nil {
		return seal.Key{}, fmt.Errorf("the signing key cannot be read: %w", err)
	}
	key, err := seal.ParseKey(text)
	if err != nil {
		return key, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// Trusted returns the public keys that may have signed records of runs: the installation's, and
// those in the named files. It creates no key: a missing one has signed nothing.
func Trusted(path, dataDir string, files []string) (list []seal.Public, err error) {
	if path == "" {
		path = filepath.Join(dataDir, SigningFile)
	}
	if _, err := os.Stat(path); err == nil {
		key, err := Signing(path, "")
		if err != nil {
			return nil, err
		}
		list = append(list, key.Public())
	}
	for _, name := range files {
		text, err := os.ReadFile(name) //nolint:gosec // the operator's own path
		if err != nil {
			return nil, err
		}
		p, err := seal.ParsePublic(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// makeSigningKey writes a new key completely or not at all; if two processes do so at once, one
// wins.
func makeSigningKey(path string) error {
	var seed [seal.SeedSize]byte
	_, _ = rand.Read(seed[:]) // never fails
	// The private PostgreSQL's user must be able to reach its part of the folder.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // see above
		return err
	}
	if err := writeKey(path, seal.NewKey(seed[:])); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeKey writes a key to a file that does not exist yet, completely or not at all, and so that it is
// still there after a power failure: what it signs may be on another disk.
func writeKey(path string, key seal.Key) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".signing_key") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(key.PEM())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes what was named in a folder outlive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // of the operator's own path
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
