-- +goose Up

-- The rows of open imports by their numbers after the first. Without a list of pending entries, which
-- every search would read.
CREATE INDEX IF NOT EXISTS import_rows_alternates
    ON import_rows USING gin (string_to_array(split_part(alternates, E'\t', 1), ' ')) WITH (fastupdate = off)
    WHERE alternates <> '';

-- +goose Down
DROP INDEX import_rows_alternates;
