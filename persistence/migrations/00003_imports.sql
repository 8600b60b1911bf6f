-- +goose Up

-- A file of contacts on its way into a campaign. While one is open its process
-- holds an advisory lock in its name, so that one whose process is gone is told
-- from one that is merely slow.
CREATE TABLE imports (
    id          uuid PRIMARY KEY,
    campaign_id text NOT NULL,
    state       text NOT NULL,
    filename    text NOT NULL,
    rows        bigint NOT NULL DEFAULT 0,
    added       bigint NOT NULL DEFAULT 0,
    invalid     bigint NOT NULL DEFAULT 0,
    duplicate   bigint NOT NULL DEFAULT 0,
    excluded    bigint NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    created_by  jsonb NOT NULL,
    finished_at timestamptz,
    problem     jsonb
);

CREATE INDEX imports_campaign ON imports (campaign_id, created_at DESC, id);
-- One at a time in a campaign.
CREATE UNIQUE INDEX imports_open ON imports (campaign_id) WHERE state IN ('staging', 'activating');

-- The rows of open imports. They need not survive a crash of the server: the
-- import fails then anyway.
CREATE UNLOGGED TABLE import_rows (
    import_id uuid NOT NULL,
    line      bigint NOT NULL,
    id        uuid NOT NULL,
    number    text NOT NULL,
    hash      bigint NOT NULL,
    variables jsonb,
    outcome   text,
    PRIMARY KEY (import_id, line)
);

CREATE INDEX import_rows_number ON import_rows (import_id, number);

-- The exclusions that an activation under way has applied.
CREATE UNLOGGED TABLE import_exclusions (
    import_id uuid NOT NULL,
    pass      integer NOT NULL,
    number    text NOT NULL,
    match     jsonb NOT NULL,
    PRIMARY KEY (import_id, number, match)
);

CREATE TABLE import_rejected (
    import_id uuid NOT NULL,
    line      bigint NOT NULL,
    number    text NOT NULL,
    reason    text NOT NULL,
    message   text NOT NULL,
    PRIMARY KEY (import_id, line)
);

-- The order of the Attempt Report. An attempt's reservation never changes, so
-- that updates stay on their page.
CREATE INDEX attempts_report ON attempts (campaign_id, reserved_at, id);

-- +goose Down
DROP INDEX attempts_report;
DROP TABLE import_rejected, import_exclusions, import_rows, imports;
