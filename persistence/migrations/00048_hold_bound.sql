-- +goose Up

-- When the hold of a number ends though nothing has proven that its call is over:
-- by the rules with which the call was begun. Null in rows of the release before.
ALTER TABLE number_holds ADD COLUMN IF NOT EXISTS bound timestamptz;

-- +goose Down
ALTER TABLE number_holds DROP COLUMN bound;
