-- +goose Up

-- Legs of an answered call to a bot that is reached by SIP, or to whom the call
-- is transferred: kind is empty for a leg to the callee, state where a far leg
-- stands, uri where its INVITE went (sip:, or tel: through a trunk).
ALTER TABLE legs
    ADD COLUMN kind  text NOT NULL DEFAULT '',
    ADD COLUMN state text NOT NULL DEFAULT '',
    ADD COLUMN uri   text NOT NULL DEFAULT '';

-- To whom the call was transferred, and what became of it.
ALTER TABLE attempts ADD COLUMN transfer jsonb;

-- +goose Down
ALTER TABLE attempts DROP COLUMN transfer;
ALTER TABLE legs DROP COLUMN kind, DROP COLUMN state, DROP COLUMN uri;
