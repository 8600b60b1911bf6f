-- +goose Up

-- When contacts are redialled, by outcome (engine/cadence): rules is the table in its printed form,
-- tries what a contact's attempts came to. contact_runs takes whole rows of contacts: the same
-- columns in the same order.
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS tries bigint NOT NULL DEFAULT 0;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS tries bigint NOT NULL DEFAULT 0;

CREATE TABLE IF NOT EXISTS cadences (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    rules      text NOT NULL,
    version    bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE cadences;
ALTER TABLE contact_runs DROP COLUMN tries;
ALTER TABLE contacts DROP COLUMN tries;
