-- +goose Up

-- One life of a node in a cluster. Its one row is what it renews, however much
-- it owns; all times are this server's (clock_timestamp).
CREATE SEQUENCE node_incarnations AS integer;

CREATE TABLE nodes (
    incarnation integer PRIMARY KEY DEFAULT nextval('node_incarnations'),
    name        text NOT NULL,
    address     text NOT NULL,
    api         text NOT NULL,
    joined_at   timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    draining    boolean NOT NULL DEFAULT false,
    left_at     timestamptz -- it left, or was declared dead: never undone
) WITH (fillfactor = 50);

ALTER SEQUENCE node_incarnations OWNED BY nodes.incarnation;

CREATE INDEX nodes_present ON nodes (incarnation) WHERE left_at IS NULL;

-- Who acts for what. A row stays when it is released (incarnation null): epochs
-- only grow.
CREATE TABLE owners (
    kind        text NOT NULL,
    identity    text NOT NULL,
    incarnation integer REFERENCES nodes,
    epoch       bigint NOT NULL,
    claimed_at  timestamptz NOT NULL,
    PRIMARY KEY (kind, identity)
);

CREATE INDEX owners_of_node ON owners (incarnation, kind);

-- +goose Down
DROP TABLE owners;
DROP TABLE nodes;
