-- +goose Up

-- Tables hold the present; events is the history, written in the same
-- transaction. Identifiers of contacts and attempts are 32 hex digits outside
-- and uuid here: 16 bytes, in order of creation, so that index pages stay hot.
-- Phone numbers are text.

CREATE TABLE campaigns (
    id                text PRIMARY KEY,
    name              text NOT NULL,
    bot_id            text NOT NULL,
    settings          jsonb NOT NULL,
    state             text NOT NULL,
    version           bigint NOT NULL,
    run               integer NOT NULL,
    ever_run          boolean NOT NULL,
    prepared          boolean NOT NULL,
    epoch             bigint NOT NULL DEFAULT 0,
    seq               bigint NOT NULL DEFAULT 0,
    completion_reason text NOT NULL DEFAULT '',
    failure_reason    text NOT NULL DEFAULT '',
    created_at        timestamptz NOT NULL,
    created_by        jsonb NOT NULL,
    started_at        timestamptz,
    restarted_at      timestamptz,
    restarted_by      jsonb,
    previous          jsonb,
    completed_at      timestamptz,
    window_ends_at    timestamptz
) WITH (fillfactor = 50);

CREATE INDEX campaigns_created ON campaigns (created_at DESC, id);

-- The row that changes with every step of a call: narrow, few indexes, room
-- on its page for the next version. Variables, which can be large and hardly
-- ever change, stand in a table of their own.
CREATE TABLE contacts (
    id                 uuid PRIMARY KEY,
    campaign_id        text NOT NULL,
    number             text NOT NULL,
    position           bigint NOT NULL,
    source             text NOT NULL,
    run                integer NOT NULL,
    state              text NOT NULL,
    reason             text NOT NULL DEFAULT '',
    used               integer NOT NULL DEFAULT 0,
    unconsumed         integer NOT NULL DEFAULT 0,
    max                integer NOT NULL DEFAULT 0,
    last_outcome       text NOT NULL DEFAULT '',
    last_disposition   text NOT NULL DEFAULT '',
    last_talk          bigint NOT NULL DEFAULT 0,
    connected_once     boolean NOT NULL DEFAULT false,
    has_result         boolean NOT NULL DEFAULT false,
    rang_unanswered    boolean NOT NULL DEFAULT false,
    due_at             timestamptz,
    due_class          integer NOT NULL DEFAULT 0,
    attempt_id         uuid,
    result_due_at      timestamptz,
    callback           text NOT NULL DEFAULT '',
    callback_at        timestamptz,
    callback_extra     boolean NOT NULL DEFAULT false,
    exclude_after_call boolean NOT NULL DEFAULT false,
    abandoned_at       timestamptz,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    version            bigint NOT NULL
) WITH (fillfactor = 75);

CREATE UNIQUE INDEX contacts_number ON contacts (campaign_id, number);
CREATE INDEX contacts_position ON contacts (campaign_id, position);
-- Dialling order: triggers and first attempts go by position …
CREATE INDEX contacts_due_list ON contacts (campaign_id, run, due_class, position)
    WHERE due_at IS NOT NULL AND due_class IN (1, 2);
-- … callbacks by time, retries by attempt number and then by time. All classes
-- are in it: it also gives the earliest due time.
CREATE INDEX contacts_due_time ON contacts (campaign_id, run, due_class, (CASE WHEN due_class = 3 THEN used ELSE 0 END), due_at)
    WHERE due_at IS NOT NULL;
CREATE INDEX contacts_result_due ON contacts (campaign_id, result_due_at) WHERE result_due_at IS NOT NULL;

CREATE TABLE contact_variables (
    contact_id uuid PRIMARY KEY,
    hash       bigint NOT NULL,
    variables  jsonb NOT NULL
);

CREATE INDEX contact_variables_match ON contact_variables USING gin (variables jsonb_path_ops);

-- What the contacts were when Restart prepared the next run: Cancel Restart
-- puts it back. Variables are not part of a run.
CREATE TABLE contact_runs (LIKE contacts);
ALTER TABLE contact_runs ADD PRIMARY KEY (campaign_id, run, id);

CREATE TABLE attempts (
    id                 uuid PRIMARY KEY,
    campaign_id        text NOT NULL,
    contact_id         uuid,
    run                integer NOT NULL,
    pass               integer NOT NULL,
    number             integer NOT NULL,
    bot_id             text NOT NULL,
    to_number          text NOT NULL,
    from_number        text NOT NULL,
    trunk              text NOT NULL,
    variables          jsonb,
    callback           boolean NOT NULL,
    epoch              bigint NOT NULL,
    send_by            timestamptz NOT NULL,
    result_token       text NOT NULL,
    state              text NOT NULL,
    live               boolean NOT NULL,
    progress           bigint NOT NULL,
    consumed           boolean NOT NULL,
    outcome            text NOT NULL,
    cause              text NOT NULL,
    hung_up_by         text NOT NULL,
    sip_code           integer NOT NULL,
    sip_reason         text NOT NULL,
    q850               integer NOT NULL,
    friendly           text NOT NULL,
    retry_after        bigint NOT NULL,
    verdict            text NOT NULL,
    confidence         double precision NOT NULL,
    amd_took           bigint NOT NULL,
    features           jsonb,
    media_seq          integer NOT NULL,
    session_id         text NOT NULL,
    reserved_at        timestamptz,
    invite_at          timestamptz,
    trying_at          timestamptz,
    ringing_at         timestamptz,
    answered_at        timestamptz,
    verdict_at         timestamptz,
    greeting_end_at    timestamptz,
    served_at          timestamptz,
    bot_connected_at   timestamptz,
    bot_first_audio_at timestamptz,
    ended_at           timestamptz,
    quality            jsonb,
    ending             jsonb,
    bot_up             boolean NOT NULL,
    seated             boolean NOT NULL,
    result             jsonb
) WITH (fillfactor = 55);

-- Updates of an attempt stay on its page (HOT) until it ends: no index knows
-- a column that changes before.
CREATE INDEX attempts_campaign ON attempts (campaign_id, contact_id);
CREATE INDEX attempts_live ON attempts (campaign_id) WHERE live;
-- The 72 h after an abandon, in any campaign.
CREATE INDEX attempts_abandoned ON attempts (to_number, ended_at) WHERE NOT live AND outcome = 'abandoned';

CREATE TABLE legs (
    attempt_id uuid NOT NULL,
    n          integer NOT NULL,
    trunk      text NOT NULL,
    sent_at    timestamptz,
    trying_at  timestamptz,
    ended_at   timestamptz,
    sip_code   integer NOT NULL,
    sip_reason text NOT NULL,
    q850       integer NOT NULL,
    dialog     jsonb,
    seq        integer NOT NULL,
    PRIMARY KEY (attempt_id, n)
) WITH (fillfactor = 60);

-- One row while a call to the number may live: two calls to one number never
-- overlap, whoever wants them. hold_until is null while the attempt lives.
CREATE TABLE number_holds (
    number     text PRIMARY KEY,
    attempt_id uuid NOT NULL,
    hold_until timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- The history. seq orders the events of a campaign; 0 stands for an event of
-- no campaign. The unique indexes make a repeated write harmless.
CREATE TABLE events (
    campaign_id text NOT NULL,
    seq         bigint NOT NULL,
    run         integer NOT NULL,
    at          timestamptz NOT NULL,
    type        text NOT NULL,
    version     integer NOT NULL,
    contact_id  uuid,
    attempt_id  uuid,
    leg         integer NOT NULL,
    activity    boolean NOT NULL,
    data        jsonb NOT NULL
) PARTITION BY RANGE (at);

CREATE UNIQUE INDEX events_order ON events (campaign_id, seq, at) WHERE seq > 0;
CREATE UNIQUE INDEX events_dialout ON events (attempt_id, type, leg, at) WHERE seq = 0 AND attempt_id IS NOT NULL;
CREATE INDEX events_activity ON events (campaign_id, at DESC) WHERE activity;

CREATE TABLE events_default PARTITION OF events DEFAULT;

-- number is '' for an exclusion by metadata, match is '{}' for one by number.
CREATE TABLE exclusions (
    campaign_id text NOT NULL,
    number      text NOT NULL,
    match       jsonb NOT NULL,
    reason      text NOT NULL,
    lifted      boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (campaign_id, number, match)
);

CREATE TABLE suppressions (
    number     text PRIMARY KEY,
    reason     text NOT NULL,
    created_at timestamptz NOT NULL
);

-- body is kept byte for byte: a repeat is answered with what was answered.
CREATE TABLE idempotency (
    key_id    text NOT NULL,
    route     text NOT NULL,
    token     text NOT NULL,
    body_hash text NOT NULL,
    status    integer NOT NULL,
    body      bytea NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (key_id, route, token)
);

CREATE INDEX idempotency_at ON idempotency (at);

CREATE TABLE bots (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    active     boolean NOT NULL,
    seats      integer NOT NULL,
    endpoints  text[] NOT NULL,
    auth_token text NOT NULL,
    account    text NOT NULL,
    variables  text[] NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE trunks (
    id            text PRIMARY KEY,
    host          text NOT NULL,
    port          integer NOT NULL,
    transport     text NOT NULL,
    username      text NOT NULL,
    password      text NOT NULL,
    from_domain   text NOT NULL,
    number_format text NOT NULL,
    cps_cap       integer NOT NULL,
    channel_cap   integer NOT NULL,
    priority      integer NOT NULL,
    weight        integer NOT NULL,
    options_s     integer NOT NULL,
    active        boolean NOT NULL
);

CREATE TABLE numbers (
    number         text PRIMARY KEY,
    concurrent_cap integer NOT NULL,
    hour_cap       integer NOT NULL,
    day_cap        integer NOT NULL,
    rest_s         integer NOT NULL,
    state          text NOT NULL
);

CREATE TABLE api_keys (
    id           text PRIMARY KEY,
    name         text NOT NULL,
    hash         bytea NOT NULL UNIQUE,
    masked       text NOT NULL,
    active       boolean NOT NULL,
    expires_at   timestamptz,
    scopes       text[] NOT NULL,
    campaigns    text[] NOT NULL,
    created_at   timestamptz NOT NULL,
    created_by   text NOT NULL,
    last_used_at timestamptz
) WITH (fillfactor = 70);

CREATE TABLE users (
    id            text PRIMARY KEY,
    email         text NOT NULL UNIQUE,
    role          text NOT NULL,
    password_hash text NOT NULL,
    active        boolean NOT NULL,
    created_at    timestamptz NOT NULL,
    last_login_at timestamptz
);

CREATE TABLE settings (
    name  text PRIMARY KEY,
    value jsonb NOT NULL
);

-- +goose Down
DROP TABLE settings, users, api_keys, numbers, trunks, bots, idempotency, suppressions, exclusions,
    events, number_holds, legs, attempts, contact_runs, contact_variables, contacts, campaigns;
