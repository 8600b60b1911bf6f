package configfile

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"dialler/engine"
	"dialler/engine/trunk"
)

// TrunksKey is the key of the trunks in the configuration file.
const TrunksKey = "trunks"

// fileTrunksCap bounds the trunks of a file.
const fileTrunksCap = 1000

// Trunk is one entry of "trunks:": the fields of the API.
type Trunk struct {
	engine.TrunkSettings
	// Password is a secret: nil leaves the stored one unchanged.
	Password *string `json:"password"`
	// PasswordEnv names the environment variable that contains it.
	PasswordEnv string `json:"password_env"`
	// TLSKey is a secret too. The files contain PEM; the key may stand in the certificate's.
	TLSKey     string  `json:"tls_key"`
	TLSFile    string  `json:"tls_certificate_file"`
	TLSKeyFile string  `json:"tls_key_file"`
	Origin     *string `json:"origin"` // not for users to set
}

// Variable reads a secret by the name of its environment variable; ok is false if there is none.
type Variable = func(name string) (secret string, ok bool, err error)

// Trunks reads the trunks of a configuration file; there are none without a file. The error names
// file, line, trunk and field of every mistake.
func Trunks(path string, env Variable) ([]Trunk, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var file struct {
		Trunks []yaml.Node `yaml:"trunks"`
	}
	noList := func(err error) error {
		return fmt.Errorf("%s: trunks must be a list of trunks, each with its fields: %w", path, err)
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		return nil, noList(err)
	}
	if len(file.Trunks) > fileTrunksCap {
		return nil, fmt.Errorf("%s: trunks: %d entries, at most %d are allowed", path, len(file.Trunks), fileTrunksCap)
	}
	var out []Trunk
	var wrong []error
	seen := map[engine.TrunkID]bool{}
	for i, node := range file.Trunks {
		var fields map[string]any
		if err := node.Decode(&fields); err != nil {
			return nil, noList(err)
		}
		t, mistakes := readFileTrunk(fields, env)
		if seen[t.ID] {
			mistakes = append(mistakes, "id: is already taken; give each trunk its own (duplicate)")
		}
		seen[t.ID] = t.ID != ""
		for _, m := range mistakes {
			wrong = append(wrong, fmt.Errorf("%s:%d: trunks[%d] (%v): %s", path, node.Line, i, fields["id"], m))
		}
		out = append(out, t)
	}
	return out, errors.Join(wrong...)
}

func readFileTrunk(fields map[string]any, env Variable) (t Trunk, mistakes []string) {
	t.TrunkSettings = trunk.Defaults()
	text, err := json.Marshal(fields)
	if err != nil {
		return t, []string{"keys must be the names of fields (invalid_format)"}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, []string{decodeMistake(err)}
	}
	switch {
	case t.Origin != nil:
		return t, []string{"origin: is not a field of this list; leave it out (unknown_field)"}
	case t.Password != nil && t.PasswordEnv != "":
		mistakes = append(
			mistakes,
			"password_env: must not be set together with password; leave one of them out (mutually_exclusive)",
		)
	case t.PasswordEnv != "":
		secret, ok, err := env(t.PasswordEnv)
		switch {
		case err != nil:
			mistakes = append(mistakes, fmt.Sprintf("password_env: %v (not_set)", err))
		case !ok:
			mistakes = append(mistakes, fmt.Sprintf("password_env: the environment variable %q is not set; set it, or "+
				"%[1]s_FILE, where the dialler is started (not_set)", t.PasswordEnv))
		}
		t.Password = &secret
	}
	if t.Password != nil {
		t.TrunkSettings.Password = *t.Password
	}
	if m := t.readCertificate(); m != "" {
		mistakes = append(mistakes, m)
	}
	t.TrunkSettings.Origin = engine.TrunkOfFile
	trunk.Complete(&t.TrunkSettings)
	for _, e := range trunk.Validate(&t.TrunkSettings) {
		mistakes = append(mistakes, fmt.Sprintf("%s: %s (%s)", e.Field, e.Message, e.Code))
	}
	for _, e := range CheckTLS(&t.TrunkSettings) {
		if e != nil {
			mistakes = append(mistakes, fmt.Sprintf("%s: %s (%s)", e.Field, e.Message, e.Code))
		}
	}
	return t, mistakes
}

// readCertificate reads the files that are named, and says what is wrong with them.
func (t *Trunk) readCertificate() (mistake string) {
	t.TrunkSettings.TLSKey = t.TLSKey
	read := func(field, path string, into *string) string {
		switch b, err := os.ReadFile(path); { //nolint:gosec // the operator names the file
		case err != nil:
			return fmt.Sprintf("%s: cannot be read: %v (not_readable)", field, err)
		case *into != "":
			return field + ": must not be set together with its text; leave one of them out (mutually_exclusive)"
		default:
			*into = string(b)
			return ""
		}
	}
	if t.TLSFile != "" {
		if mistake = read("tls_certificate_file", t.TLSFile, &t.TLSCertificate); mistake != "" {
			return mistake
		}
		if t.TLSKeyFile == "" && t.TLSKey == "" {
			t.TLSKeyFile = t.TLSFile
		}
	}
	if t.TLSKeyFile != "" {
		mistake = read("tls_key_file", t.TLSKeyFile, &t.TrunkSettings.TLSKey)
	}
	t.TLSCertificate = certificatesOf(t.TLSCertificate)
	return mistake
}

// certificatesOf leaves out what a certificate's text has besides, its key above all, which is kept
// as a secret.
func certificatesOf(text string) string {
	var b bytes.Buffer
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" {
			_ = pem.Encode(&b, block) // cannot fail
		}
	}
	if b.Len() == 0 {
		return text // not PEM, which is said
	}
	return b.String()
}

// CheckNames says which trunks name a SIP listener or a family of addresses that does not exist.
func CheckNames(path string, list []Trunk, listeners, families []string) error {
	var wrong []error
	for i, t := range list {
		for _, e := range []*engine.FieldError{CheckListener(t.Listener, listeners), CheckFamily(t.Media.Family, families)} {
			if e != nil {
				wrong = append(wrong, fmt.Errorf("%s: trunks[%d] (%s): %s: %s (%s)", path, i, t.ID, e.Field, e.Message, e.Code))
			}
		}
	}
	return errors.Join(wrong...)
}

// CheckListener validates the name of a SIP listener.
func CheckListener(name string, listeners []string) *engine.FieldError {
	if name == "" || slices.Contains(listeners, name) {
		return nil
	}
	return &engine.FieldError{Field: "listener", Code: "unknown_listener",
		Message: "must be one of the SIP listeners: " + strings.Join(listeners, ", ") +
			"; more can be set as sip-listeners in the configuration file"}
}

// CheckFamily says that there is no address of the family that a trunk's media should have.
func CheckFamily(family string, families []string) *engine.FieldError {
	if family == "" || slices.Contains(families, family) {
		return nil
	}
	return &engine.FieldError{Field: "media.family", Code: "unavailable_family",
		Message: "must be " + strings.Join(families, " or ") + ": audio has no address of another family here; " +
			"give one with --rtp-host"}
}

// decodeMistake translates a JSON error into the terms of the YAML file.
func decodeMistake(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		field := strings.TrimPrefix(typ.Field, "TrunkSettings.")
		if typ.Type.Kind() == reflect.String {
			return field + ": must be text; put quotes around it (wrong_type)"
		}
		return fmt.Sprintf("%s: must be %s, not %s (wrong_type)", field, kindWord(typ.Type.Kind()), typ.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return strings.Trim(
			name,
			`"`,
		) + ": is not a field of a trunk; the fields are those of PUT /api/v1/trunks (unknown_field)"
	}
	return "cannot be read: " + err.Error()
}

func kindWord(k reflect.Kind) string {
	switch k {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	default:
		return "a set of fields"
	}
}

// trunkStore stores the trunks of the file.
type trunkStore interface {
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (bool, error)
}

// byFile is recorded as the author of changes made by the file.
var byFile = engine.Who{Name: "configuration file"}

// Apply makes the stored trunks match the file. Trunks that are not in the file are left alone; one
// that was in it before is treated from now on as one made by the API. It returns how many changed.
func Apply(ctx context.Context, store trunkStore, list []Trunk) (changed int, err error) {
	stored, err := store.Trunks(ctx)
	if err != nil {
		return 0, fmt.Errorf("load trunks: %w", err)
	}
	have := make(map[engine.TrunkID]engine.TrunkSettings, len(stored))
	for _, t := range stored {
		have[t.ID] = t
	}
	put := func(t engine.TrunkSettings, keep bool) error {
		changed++
		if _, err := store.PutTrunk(ctx, t, keep, byFile); err != nil {
			return fmt.Errorf("store trunk %s of the configuration file: %w", t.ID, err)
		}
		return nil
	}
	for _, f := range list {
		t, old := f.TrunkSettings, have[f.ID]
		delete(have, f.ID)
		if f.Password == nil {
			t.Password = old.Password
		}
		if reflect.DeepEqual(t, old) {
			continue
		}
		if err := put(t, f.Password == nil); err != nil {
			return changed, err
		}
	}
	for _, old := range have {
		if old.Origin != engine.TrunkOfFile {
			continue
		}
		old.Origin = engine.TrunkOfAPI
		if err := put(old, true); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// CheckTLS says what is wrong with a trunk's roots and certificate; entries may be nil.
func CheckTLS(t *engine.TrunkSettings) []*engine.FieldError {
	list := []*engine.FieldError{checkCertificates("tls_roots", t.TLSRoots), checkCertificates("tls_certificate",
		t.TLSCertificate)}
	if t.TLSCertificate == "" || list[1] != nil {
		return list
	}
	if _, err := tls.X509KeyPair([]byte(t.TLSCertificate), []byte(t.TLSKey)); err != nil {
		list = append(list, &engine.FieldError{Field: "tls_key", Code: "invalid_pem",
			Message: "must be the private key of tls_certificate as PEM, not encrypted"}) // err might quote the key
	}
	return list
}

// checkCertificates says what is wrong with PEM of which each block must be a certificate.
func checkCertificates(field, text string) *engine.FieldError {
	wrong := func(message string) *engine.FieldError {
		return &engine.FieldError{Field: field, Code: "invalid_pem", Message: message}
	}
	n, rest := 0, []byte(text)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		n++
		if block.Type != "CERTIFICATE" {
			return wrong("must hold certificates only, no keys: PEM blocks that begin with -----BEGIN CERTIFICATE-----")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return wrong(fmt.Sprintf("certificate %d cannot be read; export it again as PEM", n))
		}
	}
	if n == 0 && text != "" {
		return wrong("must be certificates as PEM: blocks that begin with -----BEGIN CERTIFICATE-----")
	}
	return nil
}
