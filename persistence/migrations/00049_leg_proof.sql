-- +goose Up

-- What has proven that the leg is over: until something has, the number is held.
-- Empty in rows of the release before.
ALTER TABLE legs ADD COLUMN IF NOT EXISTS proof text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE legs DROP COLUMN proof;
