-- +goose Up

-- How many of an import's duplicates were excluded and can be called again.
ALTER TABLE imports ADD COLUMN IF NOT EXISTS readmitted integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE imports DROP COLUMN readmitted;
