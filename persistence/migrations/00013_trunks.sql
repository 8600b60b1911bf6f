-- +goose Up

-- What a trunk may be asked for, in full, and who made it.
ALTER TABLE trunks
    ADD COLUMN kind                  text NOT NULL DEFAULT '',
    ADD COLUMN from_user             text NOT NULL DEFAULT '',
    ADD COLUMN caller_id_header      text NOT NULL DEFAULT '',
    ADD COLUMN privacy               text NOT NULL DEFAULT '',
    ADD COLUMN number_country        text NOT NULL DEFAULT '',
    ADD COLUMN outbound_proxy        text NOT NULL DEFAULT '',
    ADD COLUMN listener              text NOT NULL DEFAULT '',
    ADD COLUMN external_host         text NOT NULL DEFAULT '',
    ADD COLUMN tls_server_name       text NOT NULL DEFAULT '',
    ADD COLUMN tls_roots             text NOT NULL DEFAULT '',
    ADD COLUMN tls_insecure          boolean NOT NULL DEFAULT false,
    ADD COLUMN register_s            integer NOT NULL DEFAULT 0,
    ADD COLUMN user_agent            text NOT NULL DEFAULT '',
    ADD COLUMN extra_headers         jsonb,
    ADD COLUMN redirects             integer NOT NULL DEFAULT 0,
    ADD COLUMN reliable_provisionals text NOT NULL DEFAULT '',
    ADD COLUMN session_s             integer NOT NULL DEFAULT 0,
    ADD COLUMN inbound               text NOT NULL DEFAULT '',
    ADD COLUMN media                 jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN origin                text NOT NULL DEFAULT '';

-- What the network said of our caller ID, as the network wrote it.
ALTER TABLE attempts ADD COLUMN attestation text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE attempts DROP COLUMN attestation;
ALTER TABLE trunks
    DROP COLUMN kind, DROP COLUMN from_user, DROP COLUMN caller_id_header, DROP COLUMN privacy, DROP COLUMN number_country,
    DROP COLUMN outbound_proxy, DROP COLUMN listener, DROP COLUMN external_host, DROP COLUMN tls_server_name,
    DROP COLUMN tls_roots, DROP COLUMN tls_insecure, DROP COLUMN register_s, DROP COLUMN user_agent,
    DROP COLUMN extra_headers, DROP COLUMN redirects, DROP COLUMN reliable_provisionals, DROP COLUMN session_s,
    DROP COLUMN inbound, DROP COLUMN media, DROP COLUMN origin;
