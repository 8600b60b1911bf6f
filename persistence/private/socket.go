package private

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
)

const (
	port         = "5432" // part of the socket's name; no TCP port is opened
	socketName   = ".s.PGSQL." + port
	socketLength = 107 // sun_path of Linux, without its NUL; of macOS 103

	superuser = "dialler"
	database  = "dialler"
)

// socketFolder returns the folder of the socket: beside the data, unless that path is too long for
// a socket address.
func socketFolder(base, temp string) string {
	dir := filepath.Join(base, "run")
	if len(filepath.Join(dir, socketName))+len(".lock") <= socketLength-4 {
		return dir
	}
	sum := sha256.Sum256([]byte(base))
	return filepath.Join(temp, "dialler-"+hex.EncodeToString(sum[:6]))
}

// socketTemp is a folder with a short path: /run for root, otherwise the temporary folder.
func socketTemp(o owner) string {
	if o.changes {
		if st, err := os.Stat("/run"); err == nil && st.IsDir() {
			return "/run"
		}
	}
	return os.TempDir()
}

func socketURL(dir, db string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + db,
		RawQuery: url.Values{"host": {dir}, "port": {port}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}
