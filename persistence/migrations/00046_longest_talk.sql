-- +goose Up

-- The longest conversation of a contact since it was given its attempts, in
-- nanoseconds: Stop Redials After holds for every later attempt of the run.
-- contact_runs takes whole rows of contacts: the same columns in the same order.
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS longest_talk bigint NOT NULL DEFAULT 0;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS longest_talk bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE contact_runs DROP COLUMN longest_talk;
ALTER TABLE contacts DROP COLUMN longest_talk;
