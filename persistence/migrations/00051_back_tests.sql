-- +goose Up

-- What a simulation would have said in the course of a run that is over, beside what
-- came. Points are null while somebody works them out.
CREATE TABLE back_tests (
    campaign_id text NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    run         integer NOT NULL,
    claimed_at  timestamptz NOT NULL,
    points      jsonb,
    PRIMARY KEY (campaign_id, run)
);

-- +goose Down
DROP TABLE back_tests;
