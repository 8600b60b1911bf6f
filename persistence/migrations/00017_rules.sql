-- +goose Up

-- How often a number was called of late, for the cap on that. Neither column
-- ever changes.
CREATE INDEX attempts_to ON attempts (to_number, reserved_at);

-- +goose Down
DROP INDEX attempts_to;
