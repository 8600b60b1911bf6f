-- +goose Up

-- Calendars (engine/calendar): hours is what people wrote, without holidays; file the last good file of
-- holidays and holidays its days; tried_at and problem what the last fetch came to.
CREATE TABLE IF NOT EXISTS calendars (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    hours      jsonb NOT NULL,
    sets       text[] NOT NULL,
    url        text NOT NULL,
    file       text NOT NULL,
    holidays   jsonb NOT NULL,
    read_at    timestamptz,
    tried_at   timestamptz,
    problem    text NOT NULL,
    version    bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE calendars;
