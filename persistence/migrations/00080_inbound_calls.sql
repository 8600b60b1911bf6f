-- +goose NO TRANSACTION
-- +goose Up

-- The list of calls that came in (direction=inbound) is read by it, newest first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS attempts_inbound ON attempts (id) WHERE inbound;

-- +goose Down
DROP INDEX CONCURRENTLY attempts_inbound;
