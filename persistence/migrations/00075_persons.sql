-- +goose Up

-- Several numbers of one person: alternates are those after the first, apart by spaces, with their
-- labels behind, each after a tab; choice says which is called next (contact.Choice). contact_runs
-- takes whole rows of contacts: the same columns in the same order.
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS alternates text NOT NULL DEFAULT '';
ALTER TABLE contacts ADD COLUMN IF NOT EXISTS choice integer NOT NULL DEFAULT 0;
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS alternates text NOT NULL DEFAULT '';
ALTER TABLE contact_runs ADD COLUMN IF NOT EXISTS choice integer NOT NULL DEFAULT 0;
ALTER TABLE import_rows ADD COLUMN IF NOT EXISTS alternates text NOT NULL DEFAULT '';

-- The contacts of a campaign by each of their numbers after the first. It repeats what contacts say,
-- and triggers keep it in step with them, so that no statement that writes contacts has to.
CREATE TABLE IF NOT EXISTS contact_numbers (
    campaign_id text NOT NULL,
    number      text NOT NULL,
    contact_id  uuid NOT NULL,
    PRIMARY KEY (campaign_id, number, contact_id)
);
CREATE INDEX IF NOT EXISTS contact_numbers_contact ON contact_numbers (contact_id);
CREATE INDEX IF NOT EXISTS contact_numbers_number ON contact_numbers (number);

-- +goose StatementBegin
CREATE FUNCTION list_contact_numbers() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM contact_numbers WHERE contact_id = OLD.id;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO contact_numbers (campaign_id, number, contact_id)
            SELECT NEW.campaign_id, n, NEW.id
            FROM unnest(string_to_array(split_part(NEW.alternates, E'\t', 1), ' ')) n
            ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$body$;
-- +goose StatementEnd

CREATE TRIGGER contact_numbers_added AFTER INSERT ON contacts FOR EACH ROW
    WHEN (NEW.alternates <> '') EXECUTE FUNCTION list_contact_numbers();
CREATE TRIGGER contact_numbers_changed AFTER UPDATE ON contacts FOR EACH ROW
    WHEN (NEW.alternates <> OLD.alternates) EXECUTE FUNCTION list_contact_numbers();
CREATE TRIGGER contact_numbers_removed AFTER DELETE ON contacts FOR EACH ROW
    WHEN (OLD.alternates <> '') EXECUTE FUNCTION list_contact_numbers();

-- +goose Down
DROP TRIGGER contact_numbers_removed ON contacts;
DROP TRIGGER contact_numbers_changed ON contacts;
DROP TRIGGER contact_numbers_added ON contacts;
DROP FUNCTION list_contact_numbers();
DROP TABLE contact_numbers;
ALTER TABLE import_rows DROP COLUMN alternates;
ALTER TABLE contact_runs DROP COLUMN choice;
ALTER TABLE contact_runs DROP COLUMN alternates;
ALTER TABLE contacts DROP COLUMN choice;
ALTER TABLE contacts DROP COLUMN alternates;
