-- +goose Up

-- Log-in tokens carry it; those with another are good no more. A new password
-- and a deactivation move it on.
ALTER TABLE users ADD COLUMN IF NOT EXISTS token_generation integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN token_generation;
