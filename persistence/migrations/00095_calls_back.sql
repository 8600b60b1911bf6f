-- +goose Up

-- What a contact knows of the person's calls to us: the latest of them, until when nobody is dialled because of
-- it, and when the contact would be due without. contact_runs takes whole rows of contacts: the same columns in
-- the same order.
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS calls_back uuid;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS calls_back_until timestamptz;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS due_otherwise timestamptz;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS calls_back uuid;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS calls_back_until timestamptz;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS due_otherwise timestamptz;

-- +goose Down
ALTER TABLE contact_runs DROP COLUMN due_otherwise;
ALTER TABLE contact_runs DROP COLUMN calls_back_until;
ALTER TABLE contact_runs DROP COLUMN calls_back;
ALTER TABLE contacts DROP COLUMN due_otherwise;
ALTER TABLE contacts DROP COLUMN calls_back_until;
ALTER TABLE contacts DROP COLUMN calls_back;
