-- +goose Up

-- How often a number was called of late, for the cap on that. Neither column
-- ever changes.
CREATE INDEX attempts_to ON attempts (to_number, reserved_at);

-- Dialouts by API key, and how many a day each may place; 0 is no cap.
ALTER TABLE attempts ADD COLUMN key_id text NOT NULL DEFAULT '';
CREATE INDEX attempts_key ON attempts (key_id, reserved_at) WHERE key_id <> '';
ALTER TABLE api_keys ADD COLUMN dialouts_per_day integer NOT NULL DEFAULT 0;

-- When an operator last ended a number's quarantine: the strikes before it are
-- forgotten. The least share of answered calls, in per cent, 0 is none.
ALTER TABLE numbers ADD COLUMN strikes_since timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE numbers ADD COLUMN answer_floor integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE numbers DROP COLUMN answer_floor;
ALTER TABLE numbers DROP COLUMN strikes_since;
ALTER TABLE api_keys DROP COLUMN dialouts_per_day;
DROP INDEX attempts_key;
ALTER TABLE attempts DROP COLUMN key_id;
DROP INDEX attempts_to;
