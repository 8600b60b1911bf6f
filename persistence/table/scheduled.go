package table

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/persistence/column"
)

// ScheduledNames are the columns of a scheduled dialout s, in the order of ScanScheduled.
const ScheduledNames = "s.id, s.bot_id, s.to_number, s.command, s.not_before, s.expires_at, s.precedence, " +
	"s.created_at, s.next_at, s.reason"

// ScanScheduled reads a scheduled dialout.
func ScanScheduled(row pgx.CollectableRow) (d campaign.ScheduledDialout, err error) {
	var command []byte
	var bot engine.BotID
	var to engine.PhoneNumber
	if err = row.Scan(column.Hex(&d.ID), &bot, &to, &command, &d.NotBefore, &d.ExpiresAt, &d.Precedence, &d.CreatedAt,
		&d.NextAt, &d.Reason); err != nil {
		return d, err
	}
	err = json.Unmarshal(command, &d.Command)
	d.NotBefore, d.ExpiresAt, d.CreatedAt, d.NextAt = d.NotBefore.UTC(), d.ExpiresAt.UTC(), d.CreatedAt.UTC(),
		d.NextAt.UTC()
	notBefore, expiresAt, priority := d.NotBefore, d.ExpiresAt, contact.DefaultPriority-d.Precedence
	d.Command.Bot, d.Command.To = bot, to
	d.Command.Times = contact.Times{NotBefore: &notBefore, ExpiresAt: &expiresAt, Priority: &priority}
	return d, err
}

// ScheduledCommand is what the columns of a scheduled dialout do not say.
func ScheduledCommand(d *campaign.ScheduledDialout) campaign.Dialout {
	c := d.Command
	c.Bot, c.To, c.Times = "", "", contact.Times{}
	return c
}
