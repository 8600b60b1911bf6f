-- +goose Up

-- The contacts that a file became: those of its source and time at these positions. undo says how far they
-- have been taken back: up to the position reached, with the page of this place in the campaign's sequence.
CREATE TABLE IF NOT EXISTS import_contacts (
    import_id      uuid PRIMARY KEY,
    campaign_id    text NOT NULL,
    run            integer NOT NULL,
    added_at       timestamptz NOT NULL,
    first_position bigint NOT NULL,
    last_position  bigint NOT NULL,
    reached        bigint NOT NULL,
    seq            bigint NOT NULL DEFAULT 0,
    undo           jsonb
);
CREATE INDEX IF NOT EXISTS import_contacts_undo ON import_contacts (campaign_id) WHERE undo->>'state' = 'in_progress';

-- Contacts that something other than the file that added them has named.
CREATE TABLE IF NOT EXISTS contact_mentions (
    contact_id uuid PRIMARY KEY
);

-- +goose Down
DROP TABLE contact_mentions;
DROP TABLE import_contacts;
