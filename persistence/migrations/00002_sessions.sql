-- +goose Up

-- A log-in that lasts, one row each; the token itself is nowhere. expires_at
-- moves with use: a row whose time is over is dead and soon dropped.
CREATE TABLE user_sessions (
    hash       bytea PRIMARY KEY,
    user_id    text NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX user_sessions_user ON user_sessions (user_id, created_at DESC);

-- +goose Down
DROP TABLE user_sessions;
