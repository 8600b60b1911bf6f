-- +goose Up

-- What a run came to, kept when its calls or events are dropped: its counters,
-- its last event, and where its chain ended (event_heads).
CREATE TABLE run_checkpoints (
    campaign_id   text NOT NULL,
    run           integer NOT NULL,
    counters      jsonb NOT NULL,
    attempts_gone boolean NOT NULL DEFAULT false,
    events_gone   boolean NOT NULL DEFAULT false,
    seq           bigint NOT NULL DEFAULT 0,
    batches       bigint NOT NULL DEFAULT 0,
    hash          bytea,
    at            timestamptz NOT NULL,
    PRIMARY KEY (campaign_id, run)
);

-- +goose Down
DROP TABLE run_checkpoints;
