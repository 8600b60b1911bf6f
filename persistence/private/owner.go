package private

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"dialler/engine"
)

// owner is the user that the server runs as.
type owner struct {
	uid, gid uint32
	name     string
	changes  bool // we are root and the server is not
}

// chooseOwner returns ourselves, unless we are root, as which PostgreSQL refuses to run.
func chooseOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}, nil //nolint:gosec // never negative on unix
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return owner{uid: uint32(uid), gid: uint32(gid), name: name, changes: true}, nil
		}
	}
	return owner{}, engine.Unavailable("database_user_missing",
		"PostgreSQL does not run as root and there is neither a user postgres nor nobody; create one: useradd --system "+
			"postgres", 0)
}

func (o owner) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if o.changes {
		a.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
	return a
}

// folder creates a folder that only the owner may enter, and refuses one created by somebody else:
// the parent may be writable by everybody.
func (o owner) folder(path string) error {
	err := os.Mkdir(path, 0o700)
	switch {
	case err == nil && o.changes:
		return os.Chown(path, int(o.uid), int(o.gid))
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if ok && st.IsDir() && o.changes && sys.Uid == 0 && empty(path) {
		// Created by root a moment ago, here or in another start, but not yet handed to the
		// server's user.
		if err := os.Chown(path, int(o.uid), int(o.gid)); err != nil {
			return err
		}
		return os.Chmod(path, 0o700) //nolint:gosec // a folder
	}
	if !ok || !st.IsDir() || sys.Uid != o.uid {
		return engine.Unavailable("database_folder_foreign",
			"the folder "+path+" belongs to somebody else or is not a folder; remove it or choose another", 0)
	}
	return os.Chmod(path, 0o700) //nolint:gosec // a folder
}

func empty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// reachable says whether the owner may enter every folder above path.
func (o owner) reachable(path string) bool {
	if !o.changes {
		return true
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err == nil {
			sys, ok := st.Sys().(*syscall.Stat_t)
			if !ok {
				return false
			}
			mode := st.Mode().Perm()
			if mode&0o001 == 0 && (sys.Uid != o.uid || mode&0o100 == 0) && (sys.Gid != o.gid || mode&0o010 == 0) {
				return false
			}
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// rootBase is where data is kept when we are root.
const rootBase = "/var/lib/dialler"

// moved is the new place for data in a folder that the server's user cannot enter: a separate one
// for each folder, so that two installations never collide.
func moved(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(rootBase, filepath.Base(dir)+"-"+hex.EncodeToString(sum[:4]))
}

// place chooses the server's folder and creates it: the configured one, unless we are root and the
// server's user could not enter it.
func (o owner) place(dir, name string) (string, error) {
	path, err := o.pathOf(dir, name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path),
		0o755); err != nil { //nolint:gosec // the server's own folder below it is closed
		return "", fmt.Errorf("the data folder cannot be created: %w", err)
	}
	return path, o.folder(path)
}

// pathOf returns the path of that folder.
func (o owner) pathOf(dir, name string) (string, error) {
	if name == "" {
		name = "main"
	}
	if name != filepath.Base(name) || name == "." || name == ".." {
		return "", engine.Invalid("database_name_invalid", "the name of the private database is used as the name of a folder")
	}
	switch {
	case o.changes && dir == "":
		dir = rootBase
	case o.changes && !o.reachable(filepath.Join(dir, name)):
		dir = moved(dir)
	case dir == "":
		home, err := os.UserHomeDir()
		if err != nil {
			return "", engine.Unavailable("database_folder_missing",
				"there is no home folder for the private database; configure a data folder", 0)
		}
		dir = filepath.Join(home, ".local", "share", "dialler")
	}
	dir, err := filepath.Abs(dir)
	return filepath.Join(dir, name), err
}
