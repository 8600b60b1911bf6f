-- +goose Up

-- What the pacing of a campaign has learnt of the people it calls, as a whole
-- and now and then: losing the last of it costs a few minutes of learning.
CREATE TABLE pacing (
    campaign_id text PRIMARY KEY,
    epoch       bigint NOT NULL,
    state       jsonb NOT NULL,
    at          timestamptz NOT NULL
);

-- +goose Down
DROP TABLE pacing;
