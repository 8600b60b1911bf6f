-- +goose Up

-- Endpoints that are told what happens. secret and old_secret are sealed, when
-- there is a key.
CREATE TABLE webhooks (
    id                text PRIMARY KEY,
    url               text NOT NULL,
    types             text[] NOT NULL,
    campaigns         text[] NOT NULL,
    description       text NOT NULL,
    active            boolean NOT NULL,
    disabled          text NOT NULL DEFAULT '',
    disabled_at       timestamptz,
    secret            text NOT NULL,
    old_secret        text NOT NULL DEFAULT '',
    old_secret_until  timestamptz,
    last_delivered_at timestamptz,
    created_at        timestamptz NOT NULL,
    created_by        text NOT NULL
) WITH (fillfactor = 50);

-- subject is the contact, or of a dialout the attempt, whose person the body is
-- about: an erasure takes it out.
CREATE TABLE webhook_messages (
    id          text PRIMARY KEY,
    type        text NOT NULL,
    campaign_id text NOT NULL,
    subject     uuid,
    body        text NOT NULL,
    created_at  timestamptz NOT NULL
);

CREATE INDEX webhook_messages_subject ON webhook_messages (subject) WHERE subject IS NOT NULL;

-- One message to one endpoint. generation grows with each replay: the job of an
-- earlier one does nothing any more.
CREATE TABLE webhook_deliveries (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id text NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    message_id text NOT NULL REFERENCES webhook_messages ON DELETE CASCADE,
    state      text NOT NULL DEFAULT 'pending',
    generation integer NOT NULL DEFAULT 0,
    tries      integer NOT NULL DEFAULT 0,
    status     integer NOT NULL DEFAULT 0,
    problem    text NOT NULL DEFAULT '',
    excerpt    text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL,
    tried_at   timestamptz,
    next_at    timestamptz
) WITH (fillfactor = 80);

CREATE INDEX webhook_messages_age ON webhook_messages USING brin (created_at);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries USING brin (created_at);
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (message_id, webhook_id);
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (webhook_id, created_at) WHERE state = 'failed';
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, created_at) WHERE state = 'pending';

-- How far the history was read: the last batch of each chain (event_batches). The
-- batches of a chain are numbered under the lock of its head, so that a higher
-- number is never committed before a lower one and nothing can be missed.
CREATE TABLE webhook_cursors (
    campaign_id text NOT NULL,
    run         integer NOT NULL,
    n           bigint NOT NULL,
    PRIMARY KEY (campaign_id, run)
) WITH (fillfactor = 50);

-- Its one row is locked by whoever reads the history or changes whether anybody
-- is to be told.
CREATE TABLE webhook_follower (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    following boolean NOT NULL
);
INSERT INTO webhook_follower (following) VALUES (false);

-- A batch of what is no part of a campaign's sequence has no numbers by which its
-- events are found; those of calls are found by their attempts.
ALTER TABLE event_batches ADD COLUMN IF NOT EXISTS attempts uuid[];

-- +goose Down
ALTER TABLE event_batches DROP COLUMN attempts;
DROP TABLE webhook_follower, webhook_cursors, webhook_deliveries, webhook_messages, webhooks;
