-- +goose Up

-- What a batch says of the rows that its transaction wrote: for each its digest under the
-- installation's key (package chain). code is the batch's own, under the same key: only a holder of
-- the key can have written it. Both are null in batches from before, and where there is no key.
ALTER TABLE event_batches ADD COLUMN IF NOT EXISTS rows bytea, ADD COLUMN IF NOT EXISTS code bytea;

-- To try to compress digests costs more than it gives.
ALTER TABLE event_batches ALTER COLUMN rows SET STORAGE EXTERNAL;

-- The node leaves digests of the rows that it writes: a release before this one does not.
ALTER TABLE nodes ADD COLUMN IF NOT EXISTS digests boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE nodes DROP COLUMN digests;
ALTER TABLE event_batches DROP COLUMN rows, DROP COLUMN code;
