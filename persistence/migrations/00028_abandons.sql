-- +goose Up

-- The attempts of a number are found by attempts_to. With an index that knows the
-- outcome a result, which changes it, was an update in all six indexes.
DROP INDEX attempts_abandoned;

-- +goose Down
CREATE INDEX attempts_abandoned ON attempts (to_number, ended_at) WHERE NOT live AND outcome = 'abandoned';
