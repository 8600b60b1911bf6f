-- +goose Up

-- The installation's own chain of signed entries (engine/spine). Whoever appends locks
-- the table; nothing that a call waits for does.
CREATE TABLE spine (
    n         bigint PRIMARY KEY,
    at        timestamptz NOT NULL,
    kind      text NOT NULL,
    data      jsonb NOT NULL,
    previous  bytea NOT NULL,
    hash      bytea NOT NULL,
    signed_by text NOT NULL,
    signature bytea NOT NULL
);
-- Which key is in force, and from where on a restore was noticed.
CREATE INDEX spine_keys ON spine (n) WHERE kind IN ('genesis', 'key');

-- +goose Down
DROP TABLE spine;
