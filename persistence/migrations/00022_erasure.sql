-- +goose Up

-- Until when a number is left alone; null for ever. number is the number, or,
-- of an erased person, its keyed hash (see numberhash.go).
ALTER TABLE suppressions ADD COLUMN IF NOT EXISTS until timestamptz;

-- +goose Down
ALTER TABLE suppressions DROP COLUMN until;
