-- +goose Up

-- Dialouts that wait for their time: rows of the future, not history. The write that places or ends one
-- deletes it. precedence is 5 less the priority, as that of contacts; next_at is when it is looked at
-- next, and with the reason the rest of what is known of a try that failed.
CREATE TABLE scheduled_dialouts (
    id         uuid PRIMARY KEY,
    bot_id     text NOT NULL,
    to_number  text NOT NULL,
    command    jsonb NOT NULL,
    not_before timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    precedence integer NOT NULL,
    created_at timestamptz NOT NULL,
    next_at    timestamptz NOT NULL,
    reason     text NOT NULL DEFAULT ''
);
CREATE INDEX scheduled_dialouts_due ON scheduled_dialouts (precedence, not_before, next_at);
CREATE INDEX scheduled_dialouts_to ON scheduled_dialouts (to_number);

-- +goose Down
DROP TABLE scheduled_dialouts;
