-- +goose NO TRANSACTION
-- +goose Up

-- Dialling order of all but first attempts: the due class, with the attempt number for retries, then
-- priority, time and position. Without position in it, all who are due would be read and sorted. It
-- replaces contacts_due_order, which no release has used.
CREATE INDEX CONCURRENTLY IF NOT EXISTS contacts_due_lane
    ON contacts (campaign_id, run, (CASE WHEN due_class = 3 THEN 3 + used ELSE due_class END), precedence, due_at,
        position)
    WHERE due_at IS NOT NULL AND due_class <> 2;
DROP INDEX CONCURRENTLY IF EXISTS contacts_due_order;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS contacts_due_order
    ON contacts (campaign_id, run, due_class, (CASE WHEN due_class = 3 THEN used ELSE 0 END), precedence, due_at)
    WHERE due_at IS NOT NULL AND due_class <> 2;
DROP INDEX contacts_due_lane;
