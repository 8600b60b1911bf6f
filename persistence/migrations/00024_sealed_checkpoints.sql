-- +goose Up

-- Checkpoints are signed when they are stored, with the installation's key, which
-- is not in the database; signed_by is the SHA-256 of its public half. Those that
-- were there before have no signature. A month whose chains of no campaign are gone
-- has one as well: campaign_id '' and the month, 202611, in run.
ALTER TABLE run_checkpoints ADD COLUMN signed_by text, ADD COLUMN signature bytea;

-- +goose Down
DELETE FROM run_checkpoints WHERE campaign_id = '';
ALTER TABLE run_checkpoints DROP COLUMN signed_by, DROP COLUMN signature;
