-- +goose Up

-- The SHA-256 of a recording's file as it became whole, null until then. It stays when the
-- file is deleted.
ALTER TABLE recordings ADD COLUMN IF NOT EXISTS sha256 bytea;

-- +goose Down
ALTER TABLE recordings DROP COLUMN sha256;
