-- +goose Up

-- Addresses that requests named for the progress of their calls. subject is the contact, or of a dialout the
-- attempt; the messages are sent on behalf of a webhook, with its secret.
CREATE TABLE IF NOT EXISTS webhook_callbacks (
    subject    uuid PRIMARY KEY,
    webhook_id text NOT NULL,
    url        text NOT NULL,
    types      text[] NOT NULL,
    created_at timestamptz NOT NULL
);

-- Where a message goes, unless it goes to the address of its webhook.
ALTER TABLE webhook_messages ADD COLUMN IF NOT EXISTS url text;

-- +goose Down
ALTER TABLE webhook_messages DROP COLUMN url;
DROP TABLE webhook_callbacks;
