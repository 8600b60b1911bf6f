package keys

import (
	"fmt"
	"os"
	"strings"

	"dialler/persistence/sealed"
)

// secretsKeysEnv has the keys of --secrets-key-file where there is no file,
// parted by commas.
const secretsKeysEnv = "DIALLER_SECRETS_KEYS"

// secretsFileCap bounds the file of keys, in bytes.
const secretsFileCap = 64 << 10

// Secrets reads the keys that secrets are sealed with: from a file, else from
// the environment; nil when there are none.
func Secrets(file string) (*sealed.Keys, error) {
	// A variable has one line: commas part its keys.
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
