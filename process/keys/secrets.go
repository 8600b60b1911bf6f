package keys

import (
	"fmt"
	"os"
	"strings"

	"dialler/persistence/sealed"
)

// secretsKeysEnv contains the keys of --secrets-key-file if there is no file, separated by commas.
const secretsKeysEnv = "DIALLER_SECRETS_KEYS"

// secretsFileCap bounds the key file, in bytes.
const secretsFileCap = 64 << 10

// Secrets reads the keys that secrets are sealed with, from a file or else from the environment;
// nil if there are none.
func Secrets(file string) (*sealed.Keys, error) {
	// A variable has one line, so commas separate its keys.
	from, text := secretsKeysEnv, strings.ReplaceAll(os.Getenv(secretsKeysEnv), ",", "\n")
	if file != "" {
		info, err := os.Stat(file)
		if err == nil && info.Size() > secretsFileCap {
			err = fmt.Errorf("it has more than %d KiB", secretsFileCap>>10)
		}
		var b []byte
		if err == nil {
			b, err = os.ReadFile(file) //nolint:gosec // the operator names the file
		}
		if err != nil {
			return nil, fmt.Errorf("--secrets-key-file: %w", err)
		}
		from, text = "--secrets-key-file", string(b)
	}
	if file == "" && text == "" {
		return nil, nil
	}
	keys, err := sealed.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return keys, nil
}
