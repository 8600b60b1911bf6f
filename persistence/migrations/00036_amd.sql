-- +goose Up

-- The verdict before, when a beep revised it; until when one could; and when a
-- message had been left on the machine that answered.
ALTER TABLE attempts ADD COLUMN IF NOT EXISTS revised_from text NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN IF NOT EXISTS revisable_until timestamptz;
ALTER TABLE attempts ADD COLUMN IF NOT EXISTS voicemail_left_at timestamptz;

-- Messages that are left on machines, as they are played: μ-law, 8000 bytes a
-- second. They never change.
CREATE TABLE IF NOT EXISTS voicemails (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    audio      bytea NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL
);

-- Verdicts that people are asked about: a sample of those on recorded calls. The
-- audio is the call's recording, as long as that is kept.
CREATE TABLE IF NOT EXISTS amd_reviews (
    attempt_id   uuid PRIMARY KEY,
    campaign_id  text NOT NULL,
    trunk        text NOT NULL,
    country      text NOT NULL,
    verdict      text NOT NULL,
    revised_from text NOT NULL,
    confidence   double precision NOT NULL,
    amd_ms       bigint NOT NULL,
    answered_at  timestamptz NOT NULL,
    label        text NOT NULL DEFAULT '',
    labelled_by  text NOT NULL DEFAULT '',
    labelled_at  timestamptz
);

CREATE INDEX IF NOT EXISTS amd_reviews_newest ON amd_reviews (answered_at DESC, attempt_id);
CREATE INDEX IF NOT EXISTS amd_reviews_labelled ON amd_reviews (trunk, country) WHERE label <> '';

-- +goose Down
DROP TABLE amd_reviews;
DROP TABLE voicemails;
ALTER TABLE attempts DROP COLUMN voicemail_left_at;
ALTER TABLE attempts DROP COLUMN revisable_until;
ALTER TABLE attempts DROP COLUMN revised_from;
