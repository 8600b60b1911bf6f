-- +goose Up

-- At which hours people answer (engine/besthour): the dials of a day by country and hour of the week,
-- kept for 90 days, and their sums as the runs take them. All dials until through are in them;
-- it moves in the transaction that adds them.
CREATE TABLE IF NOT EXISTS answer_hours (
    day     date NOT NULL,
    region  text NOT NULL,
    slot    smallint NOT NULL,
    dials   bigint NOT NULL,
    answers bigint NOT NULL,
    PRIMARY KEY (day, region, slot)
);

CREATE TABLE IF NOT EXISTS answer_hours_learned (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    through timestamptz NOT NULL,
    cells   bytea
);

-- What the option Best hour gains in a campaign: its dials with it, and those of the control.
CREATE TABLE IF NOT EXISTS best_hour_dials (
    campaign_id text NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    control     boolean NOT NULL,
    dials       bigint NOT NULL,
    answers     bigint NOT NULL,
    PRIMARY KEY (campaign_id, control)
);

-- +goose Down
DROP TABLE best_hour_dials;
DROP TABLE answer_hours_learned;
DROP TABLE answer_hours;
