-- +goose NO TRANSACTION
-- +goose Up

-- Whole rows of files are kept for some days; what has any is found by this.
CREATE INDEX CONCURRENTLY IF NOT EXISTS import_rejected_records ON import_rejected (import_id) WHERE record <> '';

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS import_rejected_records;
