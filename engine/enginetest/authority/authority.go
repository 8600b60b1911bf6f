// Package authority is a time-stamp authority (RFC 3161) for tests: OpenSSL's, with a root certificate and one
// for its stamps.
package authority

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Authority has its keys in a folder.
type Authority struct {
	t   testing.TB
	dir string
}

const config = `
[req]
distinguished_name = dn
prompt = no
[dn]
CN = authority
[root]
basicConstraints = critical,CA:true
[stamps]
extendedKeyUsage = critical,timeStamping
[other]
extendedKeyUsage = serverAuth
[tsa]
serial = serial
signer_cert = stamps.pem
signer_key = stamps.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1, millisecs:500, microsecs:100
ordering = yes
clock_precision_digits = 3
`

// New makes an authority; settings are further lines of its configuration.
func New(t testing.TB, settings string) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	a.write("conf", []byte(config+settings))
	a.write("serial", []byte("01\n"))
	a.OpenSSL("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "root.key",
		"-out", "root.pem", "-config", "conf", "-extensions", "root", "-days", "2")
	a.Renew("stamps")
	return a
}

// Renew makes another certificate for the stamps, with the extensions of a section: stamps or other.
func (a *Authority) Renew(section string) {
	a.t.Helper()
	a.OpenSSL("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "stamps.key",
		"-out", "request.pem", "-config", "conf", "-subj", "/CN="+section)
	a.OpenSSL("x509", "-req", "-in", "request.pem", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-extfile",
		"conf", "-extensions", section, "-days", "1", "-out", "stamps.pem")
}

// Roots is the file of the root certificate.
func (a *Authority) Roots() string { return filepath.Join(a.dir, "root.pem") }

// Answer answers a request for a time stamp.
func (a *Authority) Answer(query []byte) []byte {
	a.t.Helper()
	a.write("query", query)
	return a.OpenSSL("ts", "-reply", "-config", "conf", "-section", "tsa", "-queryfile", "query")
}

// Sign makes an answer whose time stamp says what that of another one does, signed by openssl cms with
// these options and the present certificate.
func (a *Authority) Sign(answer []byte, options ...string) []byte {
	a.t.Helper()
	a.write("answer", answer)
	a.OpenSSL("ts", "-reply", "-in", "answer", "-token_out", "-out", "token")
	a.OpenSSL("cms", "-verify", "-noverify", "-inform", "DER", "-in", "token", "-out", "info")
	a.OpenSSL(append([]string{"cms", "-sign", "-binary", "-nodetach", "-in", "info", "-outform", "DER", "-out", "token",
		"-signer", "stamps.pem", "-inkey", "stamps.key"}, options...)...)
	token, err := os.ReadFile(filepath.Join(a.dir, "token"))
	if err != nil {
		a.t.Fatal(err)
	}
	body := append([]byte{0x30, 3, 2, 1, 0}, token...) // status 0
	return append([]byte{0x30, 0x82, byte(len(body) >> 8), byte(len(body))}, body...)
}

// Verify has OpenSSL verify an answer for a hash in hex.
func (a *Authority) Verify(answer []byte, hash string) {
	a.t.Helper()
	a.write("answer", answer)
	a.OpenSSL("ts", "-verify", "-digest", hash, "-in", "answer", "-CAfile", "root.pem")
}

// OpenSSL runs openssl in the folder.
func (a *Authority) OpenSSL(args ...string) []byte {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), "openssl", args...) //nolint:gosec // the test's own
	cmd.Dir = a.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		a.t.Errorf("openssl %s: %v\n%s", args, err, &stderr)
	}
	return out
}

func (a *Authority) write(name string, content []byte) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), content, 0o600); err != nil {
		a.t.Fatal(err)
	}
}
