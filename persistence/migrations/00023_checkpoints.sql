-- +goose Up

-- What a run came to, kept when its calls or events are dropped: its counters,
-- and its last event. signature is what `dialler db audit` checks, empty when
-- there was no key to sign with.
CREATE TABLE run_checkpoints (
    campaign_id   text NOT NULL,
    run           integer NOT NULL,
    seq           bigint NOT NULL,
    counters      jsonb NOT NULL,
    attempts_gone boolean NOT NULL DEFAULT false,
    events_gone   boolean NOT NULL DEFAULT false,
    at            timestamptz NOT NULL,
    chain         bytea NOT NULL DEFAULT '',
    signature     bytea NOT NULL DEFAULT '',
    PRIMARY KEY (campaign_id, run)
);

-- +goose Down
DROP TABLE run_checkpoints;
