-- +goose Up

-- What makes a change of the history show: package chain says how. The events
-- that one transaction writes of a campaign's run are a batch; the head is the
-- hash of the last one, and its row lock gives the batches their order. Events
-- that are no part of a campaign's sequence have chains of their own, some for
-- each month, numbered in run; a batch of theirs keeps the digests, since they
-- have no number.
--
-- Events that were there before have no digest and are in no batch.
ALTER TABLE events ADD COLUMN digest bytea;

CREATE TABLE event_heads (
    campaign_id text NOT NULL,
    run         integer NOT NULL,
    n           bigint NOT NULL,
    hash        bytea NOT NULL,
    PRIMARY KEY (campaign_id, run)
) WITH (fillfactor = 50);

CREATE TABLE event_batches (
    campaign_id text NOT NULL,
    run         integer NOT NULL,
    n           bigint NOT NULL,
    seqs        bigint[],
    digests     bytea,
    hash        bytea NOT NULL,
    PRIMARY KEY (campaign_id, run, n)
) WITH (toast_tuple_target = 8160);

-- To try to compress them costs more than it gives.
ALTER TABLE event_batches ALTER COLUMN digests SET STORAGE EXTERNAL, ALTER COLUMN seqs SET STORAGE EXTERNAL;

-- A value in the form of RFC 8785, for the events that statements make of the
-- rows they change: their numbers are whole, their keys ASCII.
-- +goose StatementBegin
CREATE FUNCTION canonical_json(v jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $body$
BEGIN
    CASE jsonb_typeof(v)
    WHEN 'object' THEN
        RETURN '{' || coalesce((SELECT string_agg(to_json(e.key)::text || ':' || canonical_json(e.value), ',' ORDER BY e.key COLLATE "C")
            FROM jsonb_each(v) e), '') || '}';
    WHEN 'array' THEN
        RETURN '[' || coalesce((SELECT string_agg(canonical_json(e.value), ',' ORDER BY e.n)
            FROM jsonb_array_elements(v) WITH ORDINALITY AS e(value, n)), '') || ']';
    ELSE
        RETURN v::text;
    END CASE;
END
$body$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION canonical_json(jsonb);
DROP TABLE event_batches, event_heads;
ALTER TABLE events DROP COLUMN digest;
