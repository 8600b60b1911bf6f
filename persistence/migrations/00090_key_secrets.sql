-- +goose Up

-- While the secret of a key is rotated, the one before it is valid too, until old_until.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS old_hash bytea;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS old_until timestamptz;
CREATE UNIQUE INDEX IF NOT EXISTS api_keys_old_hash ON api_keys (old_hash);

-- +goose Down
DROP INDEX api_keys_old_hash;
ALTER TABLE api_keys DROP COLUMN old_hash;
ALTER TABLE api_keys DROP COLUMN old_until;
