-- +goose Up

-- Facts of a contact in its run that counters count whatever becomes of it later: the
-- attempt of its last conversation, whose result may be awaited; the attempt whose result
-- asked for its newest callback; whether a callback is being dialled; how many callbacks
-- before the newest were cancelled; how it ended before it was excluded or opened again
-- (1 failed, 2 window closed, 4 manually stopped). contact_runs takes whole rows of
-- contacts: the same columns in the same order.
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS last_conversation uuid;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS callback_of uuid;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS calling_back boolean NOT NULL DEFAULT false;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS callbacks_cancelled integer NOT NULL DEFAULT 0;
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS ends integer NOT NULL DEFAULT 0;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS last_conversation uuid;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS callback_of uuid;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS calling_back boolean NOT NULL DEFAULT false;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS callbacks_cancelled integer NOT NULL DEFAULT 0;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS ends integer NOT NULL DEFAULT 0;

-- Whose result is awaited now. They are few, those of the last result timeout, and indices
-- find them and their calls.
UPDATE contacts SET last_conversation = (SELECT a.id FROM attempts a
    WHERE a.campaign_id = contacts.campaign_id AND a.contact_id = contacts.id AND a.run = contacts.run
        AND a.outcome = 'connected_no_result' AND a.result IS NULL
    ORDER BY a.ended_at DESC LIMIT 1)
WHERE result_due_at IS NOT NULL AND last_conversation IS NULL;

-- How many variables a bot that is called by SIP was not told.
ALTER TABLE attempts ADD COLUMN IF NOT EXISTS variables_left_out integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE attempts DROP COLUMN variables_left_out;
ALTER TABLE contact_runs DROP COLUMN ends;
ALTER TABLE contact_runs DROP COLUMN callbacks_cancelled;
ALTER TABLE contact_runs DROP COLUMN calling_back;
ALTER TABLE contact_runs DROP COLUMN callback_of;
ALTER TABLE contact_runs DROP COLUMN last_conversation;
ALTER TABLE contacts DROP COLUMN ends;
ALTER TABLE contacts DROP COLUMN callbacks_cancelled;
ALTER TABLE contacts DROP COLUMN calling_back;
ALTER TABLE contacts DROP COLUMN callback_of;
ALTER TABLE contacts DROP COLUMN last_conversation;
