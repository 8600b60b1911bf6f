package keys

import (
	"fmt"
	"os"
	"strings"

	"dialler/persistence/sealed"
)

// SecretsKeysEnv contains the keys of --secrets-key-file if there is no file, separated by commas.
const SecretsKeysEnv = "DIALLER_SECRETS_KEYS"

// secretsFileCap bounds a file of keys or of a secret, in bytes.
const secretsFileCap = 64 << 10

// FileSuffix ends the name of a variable that names a file with a secret.
const FileSuffix = "_FILE"

// Variable reads a secret from the environment: the variable of the name, or the file that the variable
// with FileSuffix names, as systemd (LoadCredential) and containers give secrets. White space at the
// end of the file is not part of it. Both at once are an error, as is a file that cannot be read.
func Variable(name string) (secret string, ok bool, err error) {
	secret, ok = os.LookupEnv(name)
	file := os.Getenv(name + FileSuffix)
	switch {
	case file == "":
		return secret, ok, nil
	case ok:
		return "", false, fmt.Errorf("%s and %s are both set; give one", name, name+FileSuffix)
	}
	text, err := readCapped(file)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", name+FileSuffix, err)
	}
	return strings.TrimRight(text, " \t\r\n"), true, nil
}

// readCapped reads a file of secrets, which is small.
func readCapped(file string) (string, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > secretsFileCap {
		err = fmt.Errorf("it has more than %d KiB", secretsFileCap>>10)
	}
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	return string(b), err
}

// Secrets reads the keys that secrets are sealed with, from a file or else from the environment;
// nil if there are none.
func Secrets(file string) (*sealed.Keys, error) {
	from := "--secrets-key-file"
	var text string
	var err error
	if file != "" {
		if text, err = readCapped(file); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	} else {
		from = SecretsKeysEnv
		if text, _, err = Variable(from); err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, ",", "\n") // a variable has one line
		if text == "" {
			return nil, nil
		}
	}
	keys, err := sealed.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return keys, nil
}
