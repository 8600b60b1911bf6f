-- +goose Up

-- The pass for which a contact was put in line last. contact_runs takes whole
-- rows of contacts: the same columns in the same order.
ALTER TABLE contacts ADD COLUMN due_pass integer NOT NULL DEFAULT 1;
ALTER TABLE contact_runs ADD COLUMN due_pass integer NOT NULL DEFAULT 1;
UPDATE contacts SET due_pass = used + 1 WHERE due_at IS NOT NULL AND used > 0;
UPDATE contact_runs SET due_pass = used + 1 WHERE due_at IS NOT NULL AND used > 0;

-- When the callback that an attempt was placed for was due.
ALTER TABLE attempts ADD COLUMN callback_at timestamptz;

-- +goose Down
ALTER TABLE attempts DROP COLUMN callback_at;
ALTER TABLE contact_runs DROP COLUMN due_pass;
ALTER TABLE contacts DROP COLUMN due_pass;
