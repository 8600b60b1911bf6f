-- +goose Up

-- What requests to a bot carry and how its sockets are probed: headers as JSON, sealed like auth_token.
ALTER TABLE bots ADD COLUMN IF NOT EXISTS headers text NOT NULL DEFAULT '';
ALTER TABLE bots ADD COLUMN IF NOT EXISTS health_url text NOT NULL DEFAULT '';
ALTER TABLE bots ADD COLUMN IF NOT EXISTS probe text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE bots DROP COLUMN headers;
ALTER TABLE bots DROP COLUMN health_url;
ALTER TABLE bots DROP COLUMN probe;
