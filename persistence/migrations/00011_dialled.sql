-- +goose Up

-- Dialling time of the run in nanoseconds, up to running_since.
ALTER TABLE campaigns ADD COLUMN dialled bigint NOT NULL DEFAULT 0, ADD COLUMN running_since timestamptz;
UPDATE campaigns SET running_since = started_at WHERE state = 'running';

-- +goose Down
ALTER TABLE campaigns DROP COLUMN running_since, DROP COLUMN dialled;
