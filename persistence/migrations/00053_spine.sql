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
-- Which key is in force; what was dropped or restored.
CREATE INDEX spine_kinds ON spine (kind, n) WHERE kind <> 'seal';

-- +goose Down
DROP TABLE spine;
