-- +goose Up

-- The contacts with a callback, by its state.
CREATE INDEX contacts_callback ON contacts (campaign_id, callback, position) WHERE callback <> '';

-- +goose Down
DROP INDEX contacts_callback;
