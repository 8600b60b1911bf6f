-- +goose Up

-- The suppression list in pages, newest first.
CREATE INDEX suppressions_newest ON suppressions (created_at DESC, number);

-- +goose Down
DROP INDEX suppressions_newest;
