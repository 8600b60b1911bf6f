-- +goose Up

-- What a life of a node writes into the Via of its requests over a trunk
-- (host:port): whoever cancels a call of a node that is gone has to write the same
-- (RFC 3261 §9.1).
CREATE TABLE IF NOT EXISTS node_trunks (
    incarnation integer NOT NULL REFERENCES nodes ON DELETE CASCADE,
    trunk       text NOT NULL,
    sent_by     text NOT NULL,
    PRIMARY KEY (incarnation, trunk)
);

-- +goose Down
DROP TABLE node_trunks;
