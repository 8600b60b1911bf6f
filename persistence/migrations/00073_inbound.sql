-- +goose Up

-- Calls that come in (engine/inbound) are attempts as well: inbound tells them apart, and returns is the
-- attempt that the person calls back.
ALTER TABLE attempts ADD COLUMN IF NOT EXISTS inbound boolean NOT NULL DEFAULT false;
ALTER TABLE attempts ADD COLUMN IF NOT EXISTS returns uuid;

-- +goose Down
ALTER TABLE attempts DROP COLUMN returns;
ALTER TABLE attempts DROP COLUMN inbound;
