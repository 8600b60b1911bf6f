-- +goose Up

-- The certificate that a trunk shows to its carrier, and the key to it, sealed like passwords.
ALTER TABLE trunks ADD COLUMN IF NOT EXISTS tls_certificate text NOT NULL DEFAULT '';
ALTER TABLE trunks ADD COLUMN IF NOT EXISTS tls_key text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE trunks DROP COLUMN tls_certificate;
ALTER TABLE trunks DROP COLUMN tls_key;
