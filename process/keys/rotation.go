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

// Rotation changes the file of the signing key. The new key is on disk before anybody is told of it,
// beside the present one: a rotation that was interrupted goes on with it.
type Rotation struct {
	Former, Next seal.Key
	path         string
}

// pendingSuffix is of the file of the key that is to come.
const pendingSuffix = ".next"

// Rotate prepares the change of the key in a file to the one in another file, or to a new one.
func Rotate(path, from string) (r Rotation, err error) {
	r.path = path
	if r.Former, err = Signing(path, ""); err != nil {
		return r, err
	}
	pending := path + pendingSuffix
	if from != "" {
		if r.Next, err = Signing(from, ""); err != nil {
			return r, err
		}
		if _, err := os.Stat(pending); errors.Is(err, fs.ErrNotExist) {
			err = writeKey(pending, r.Next)
			return r, unwritable(path, err)
		}
	}
	text, err := os.ReadFile(pending) //nolint:gosec // the operator's own path
	if errors.Is(err, fs.ErrNotExist) {
		var seed [seal.SeedSize]byte
		_, _ = rand.Read(seed[:]) // never fails
		r.Next = seal.NewKey(seed[:])
		return r, unwritable(path, writeKey(pending, r.Next))
	}
	if err != nil {
		return r, err
	}
	next, err := seal.ParseKey(text)
	if err == nil && from != "" && next.Public().Fingerprint() != r.Next.Public().Fingerprint() {
		err = fmt.Errorf("an interrupted change to the key %s is not over: finish it without --new, or remove %s",
			next.Public().Fingerprint(), pending)
	}
	r.Next = next
	return r, err
}

// Interrupted is a rotation that has its new key beside the file in path; false if there is none.
func Interrupted(path string) (r Rotation, ok bool, err error) {
	text, err := os.ReadFile(path + pendingSuffix) //nolint:gosec // the operator's own path
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	r.path = path
	if err == nil {
		r.Next, err = seal.ParseKey(text)
	}
	if err == nil {
		r.Former, err = Signing(path, "")
	}
	return r, err == nil, err
}

func unwritable(path string, err error) error {
	if err != nil {
		return fmt.Errorf("the new key cannot be written beside %s; run this where that can be: %w", path, err)
	}
	return nil
}

// Finish makes the new key the one in the file, and returns where the former one is. Several processes may
// do so at once.
func (r *Rotation) Finish() (former string, err error) {
	former = filepath.Join(filepath.Dir(r.path), "signing_key."+r.Former.Public().Fingerprint()[:8]+".pem")
	if err := os.Link(r.path, former); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := os.Rename(r.path+pendingSuffix, r.path); err != nil {
		key, read := Signing(r.path, "")
		if read != nil || key.Public().Fingerprint() != r.Next.Public().Fingerprint() { // else another one was first
			return "", err
		}
	}
	return former, syncDir(filepath.Dir(r.path))
}
