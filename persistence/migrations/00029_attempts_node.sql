-- +goose Up

-- The node that has a call's legs, one of nodes; 0: a process that is in no
-- cluster. No reference: nodes are forgotten before calls.
ALTER TABLE attempts ADD COLUMN IF NOT EXISTS incarnation integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE attempts DROP COLUMN incarnation;
