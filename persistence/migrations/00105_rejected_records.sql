-- +goose Up

-- How a file of contacts was written, and its rows as they stand in it, so that those that became no contacts
-- can be had in its own layout.
ALTER TABLE imports ADD COLUMN IF NOT EXISTS country text NOT NULL DEFAULT '';
ALTER TABLE imports ADD COLUMN IF NOT EXISTS encoding text NOT NULL DEFAULT '';
ALTER TABLE imports ADD COLUMN IF NOT EXISTS delimiter text NOT NULL DEFAULT '';
ALTER TABLE imports ADD COLUMN IF NOT EXISTS header text NOT NULL DEFAULT '';
ALTER TABLE import_rows ADD COLUMN IF NOT EXISTS record text NOT NULL DEFAULT '';
ALTER TABLE import_rejected ADD COLUMN IF NOT EXISTS record text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE import_rejected DROP COLUMN record;
ALTER TABLE import_rows DROP COLUMN record;
ALTER TABLE imports DROP COLUMN header;
ALTER TABLE imports DROP COLUMN delimiter;
ALTER TABLE imports DROP COLUMN encoding;
ALTER TABLE imports DROP COLUMN country;
