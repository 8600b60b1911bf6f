-- +goose Up

-- A dry run says what an import of the file would do. An import that was asked
-- for with an Idempotency-Key is found by it: one that came to nothing makes room
-- for the next try.
ALTER TABLE imports ADD COLUMN IF NOT EXISTS dry_run boolean NOT NULL DEFAULT false;
ALTER TABLE imports ADD COLUMN IF NOT EXISTS key_id text NOT NULL DEFAULT '';
ALTER TABLE imports ADD COLUMN IF NOT EXISTS token text NOT NULL DEFAULT '';
ALTER TABLE imports ADD COLUMN IF NOT EXISTS request_hash text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX IF NOT EXISTS imports_request ON imports (campaign_id, key_id, token) WHERE token <> '' AND state <> 'failed';

-- +goose Down
DROP INDEX imports_request;
ALTER TABLE imports DROP COLUMN dry_run, DROP COLUMN key_id, DROP COLUMN token, DROP COLUMN request_hash;
