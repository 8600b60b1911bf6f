-- +goose Up

-- What crossed the wire in a leg that failed, kept for two weeks: an array of
-- messages, each an array (see ladders.go).
CREATE TABLE sip_ladders (
    attempt_id uuid NOT NULL,
    leg text NOT NULL,
    at timestamptz NOT NULL,
    messages jsonb NOT NULL,
    PRIMARY KEY (attempt_id, leg)
);
CREATE INDEX sip_ladders_at ON sip_ladders USING brin (at);

-- +goose Down
DROP TABLE sip_ladders;
