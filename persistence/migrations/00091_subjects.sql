-- +goose Up

-- Whom an identity provider says that a user is: its issuer and its name for the person; empty for users with a
-- password alone.
ALTER TABLE users ADD COLUMN IF NOT EXISTS subject text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX IF NOT EXISTS users_subject ON users (subject) WHERE subject <> '';

-- +goose Down
DROP INDEX users_subject;
ALTER TABLE users DROP COLUMN subject;
