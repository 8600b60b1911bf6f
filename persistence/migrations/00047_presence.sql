-- +goose Up

-- Who serves this database. Whether somebody does is told by the lock of a
-- session (persistence/presence.go); this names the process behind it.
CREATE TABLE IF NOT EXISTS presence (
    backend integer PRIMARY KEY, -- the server's process of that session
    life    text NOT NULL,       -- of the dialler's process
    name    text NOT NULL,
    host    text NOT NULL,
    pid     integer NOT NULL,
    since   timestamptz NOT NULL
);

-- +goose Down
DROP TABLE presence;
