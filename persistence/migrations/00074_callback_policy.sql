-- +goose Up

-- What becomes of calls to a number of ours: callback_policy is reject (also when empty), message or bot.
ALTER TABLE numbers ADD COLUMN IF NOT EXISTS callback_policy text NOT NULL DEFAULT '';
ALTER TABLE numbers ADD COLUMN IF NOT EXISTS callback_bot text NOT NULL DEFAULT '';
ALTER TABLE numbers ADD COLUMN IF NOT EXISTS callback_message text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE numbers DROP COLUMN callback_message;
ALTER TABLE numbers DROP COLUMN callback_bot;
ALTER TABLE numbers DROP COLUMN callback_policy;
