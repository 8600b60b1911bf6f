-- +goose Up

-- The sticky number of a contact. Both tables keep the same columns.
ALTER TABLE contacts ADD COLUMN called_from text NOT NULL DEFAULT '';
ALTER TABLE contact_runs ADD COLUMN called_from text NOT NULL DEFAULT '';

-- The dials of a number's last hours, for its caps after a start. Neither column
-- ever changes.
CREATE INDEX attempts_from ON attempts (from_number, reserved_at);

-- +goose Down
DROP INDEX attempts_from;
ALTER TABLE contact_runs DROP COLUMN called_from;
ALTER TABLE contacts DROP COLUMN called_from;
