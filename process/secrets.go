package process

import (
	"context"
	"fmt"
	"os"
	"strings"

	"dialler/persistence"
	"dialler/persistence/sealed"
)

// secretsKeysEnv has the keys of --secrets-key-file where there is no file,
// parted by commas.
const secretsKeysEnv = "DIALLER_SECRETS_KEYS"

// secretsFileCap bounds the file of keys, in bytes.
const secretsFileCap = 64 << 10

// SecretKeys reads the keys that secrets are sealed with: from a file, else from
// the environment; nil when there are none.
func SecretKeys(file string) (*sealed.Keys, error) {
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

// openStore opens the database, with the keys of its secrets.
func (p *Process) openStore(ctx context.Context, url string) error {
	keys, err := SecretKeys(p.flags.SecretsKeyFile)
	if err != nil {
		return err
	}
	if p.store, err = persistence.Open(ctx, url, persistence.Config{Log: p.log, Dial: p.tuning.toDatabase, Secrets: keys, Migrations: p.tuning.schema}); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	p.closing = append(p.closing, p.store.Close)
	return p.checkSecrets(ctx)
}

// checkSecrets refuses to start on secrets that cannot be opened, and says when
// some are stored as they are.
func (p *Process) checkSecrets(ctx context.Context) error {
	c, err := p.store.CheckSecrets(ctx)
	switch {
	case err != nil:
		return err
	case c.Plain > 0:
		p.log.Warn().Int("secrets", c.Plain).Msg("passwords of trunks, tokens of bots or secrets of webhooks are stored unencrypted; give --secrets-key-file and run dialler db encrypt-secrets")
	case c.Old > 0:
		p.log.Warn().Int("secrets", c.Old).Msg("passwords of trunks, tokens of bots or secrets of webhooks are encrypted with an old key; run dialler db encrypt-secrets")
	}
	return nil
}
