-- +goose Up

-- What the Config URL of a campaign set at its last Start.
ALTER TABLE campaigns ADD COLUMN external jsonb;

-- +goose Down
ALTER TABLE campaigns DROP COLUMN external;
