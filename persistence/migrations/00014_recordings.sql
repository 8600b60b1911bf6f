-- +goose Up

-- The recordings that are, or were, kept: by attempt, since there is one a call.
-- What they are like stands in the attempt's quality.
CREATE TABLE recordings (
    attempt_id  uuid PRIMARY KEY,
    campaign_id text NOT NULL,
    place       text NOT NULL,
    started_at  timestamptz NOT NULL,
    deleted_at  timestamptz
);

-- What the retention looks through.
CREATE INDEX recordings_kept ON recordings (started_at, attempt_id) WHERE deleted_at IS NULL;

-- +goose Down
DROP TABLE recordings;
