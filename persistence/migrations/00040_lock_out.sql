-- +goose Up

-- Log-ins that failed since the last good one, and until when none is taken.
ALTER TABLE users ADD COLUMN IF NOT EXISTS failed_logins integer NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN IF NOT EXISTS locked_until timestamptz;

-- +goose Down
ALTER TABLE users DROP COLUMN locked_until, DROP COLUMN failed_logins;
