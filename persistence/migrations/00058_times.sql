-- +goose NO TRANSACTION
-- +goose Up

-- When a contact may be called, and its priority: 5 less the priority, so that existing contacts
-- have the default. contact_runs takes whole rows of contacts: the same columns in the same order.
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS not_before timestamptz;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS expires_at timestamptz;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS precedence integer NOT NULL DEFAULT 0;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS not_before timestamptz;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS expires_at timestamptz;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS precedence integer NOT NULL DEFAULT 0;
ALTER TABLE import_rows ADD COLUMN IF NOT EXISTS not_before timestamptz;
ALTER TABLE import_rows ADD COLUMN IF NOT EXISTS expires_at timestamptz;
ALTER TABLE import_rows ADD COLUMN IF NOT EXISTS precedence integer NOT NULL DEFAULT 0;

-- Dialling order: first attempts by priority and position; due_at is in the index so that those who
-- may not be called yet are passed over without their rows. It replaces contacts_due_list, which the
-- release before uses.
CREATE INDEX CONCURRENTLY IF NOT EXISTS contacts_due_first
    ON contacts (campaign_id, run, due_class, precedence, position, due_at)
    WHERE due_at IS NOT NULL AND due_class = 2;
-- All others by attempt number (of retries), priority and time.
CREATE INDEX CONCURRENTLY IF NOT EXISTS contacts_due_order
    ON contacts (campaign_id, run, due_class, (CASE WHEN due_class = 3 THEN used ELSE 0 END), precedence, due_at)
    WHERE due_at IS NOT NULL AND due_class <> 2;
CREATE INDEX CONCURRENTLY IF NOT EXISTS contacts_expires ON contacts (campaign_id, run, expires_at)
    WHERE expires_at IS NOT NULL AND due_at IS NOT NULL;

-- +goose Down
DROP INDEX contacts_expires;
DROP INDEX contacts_due_order;
DROP INDEX contacts_due_first;
ALTER TABLE import_rows DROP COLUMN precedence;
ALTER TABLE import_rows DROP COLUMN expires_at;
ALTER TABLE import_rows DROP COLUMN not_before;
ALTER TABLE contact_runs DROP COLUMN precedence;
ALTER TABLE contact_runs DROP COLUMN expires_at;
ALTER TABLE contact_runs DROP COLUMN not_before;
ALTER TABLE contacts DROP COLUMN precedence;
ALTER TABLE contacts DROP COLUMN expires_at;
ALTER TABLE contacts DROP COLUMN not_before;
