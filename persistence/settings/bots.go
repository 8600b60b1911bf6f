// Package settings stores what operators configure for all campaigns.
package settings

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/inbound"
	"dialler/persistence/sealed"
	"dialler/persistence/table"
)

// Configuration stores what operators configure: bots, trunks, caller IDs, messages for machines.
type Configuration struct{ db *table.DB }

// NewConfiguration returns the Configuration stored in db.
func NewConfiguration(db *table.DB) *Configuration { return &Configuration{db: db} }

const botColumns = "id, name, active, seats, endpoints, auth_token, headers, health_url, probe, account, variables, " +
	"created_at"

// sealedBot is a bot as stored: its secrets are sealed.
type sealedBot struct {
	engine.Bot
	headers string
}

func scanBot(row pgx.CollectableRow) (b sealedBot, err error) {
	err = row.Scan(&b.ID, &b.Name, &b.Active, &b.Seats, &b.Endpoints, &b.AuthToken, &b.headers, &b.HealthURL, &b.Probe,
		&b.Account, &b.Variables, &b.CreatedAt)
	return b, err
}

func (s *Configuration) sealBot(bot engine.Bot) (b sealedBot, err error) {
	b.Bot = bot
	if len(bot.Headers) > 0 {
		list, err := json.Marshal(bot.Headers)
		if err != nil {
			return b, err // cannot happen for strings
		}
		b.headers = string(list)
	}
	if b.AuthToken, err = s.db.Config.Secrets.Seal(sealed.BotPlace(bot.ID), bot.AuthToken); err != nil {
		return b, err
	}
	b.headers, err = s.db.Config.Secrets.Seal(sealed.BotHeadersPlace(bot.ID), b.headers)
	return b, err
}

func (s *Configuration) openBot(b sealedBot) (bot engine.Bot, err error) {
	bot = b.Bot
	if bot.AuthToken, err = s.db.Config.Secrets.Open(sealed.BotPlace(b.ID), b.AuthToken); err != nil {
		return bot, err
	}
	headers, err := s.db.Config.Secrets.Open(sealed.BotHeadersPlace(b.ID), b.headers)
	if err != nil || headers == "" {
		return bot, err
	}
	return bot, json.Unmarshal([]byte(headers), &bot.Headers)
}

// Bots lists every bot, oldest first.
func (s *Configuration) Bots(ctx context.Context) ([]engine.Bot, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+botColumns+" FROM bots ORDER BY created_at, id")
	stored, err := pgx.CollectRows(rows, scanBot)
	if err != nil {
		return nil, s.db.Wrap("bots not read", err)
	}
	list := make([]engine.Bot, len(stored))
	for i := range stored {
		if list[i], err = s.openBot(stored[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// PutBot creates or replaces a bot by its identifier, except for CreatedAt. With keepSecret the
// stored AuthToken stays. It returns the bot as stored.
func (s *Configuration) PutBot(ctx context.Context, bot engine.Bot, keepSecret bool,
	who engine.Who) (stored engine.Bot, created bool, err error) {
	b, err := s.sealBot(bot)
	if err != nil {
		return stored, false, err
	}
	err = s.db.InTx(ctx, "bot not stored", func(tx pgx.Tx) error {
		if created, err = table.Absent(ctx, tx, "bots", "id", string(bot.ID)); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `INSERT INTO bots AS t (`+botColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, active = excluded.active, seats = excluded.seats,
			endpoints = excluded.endpoints, auth_token = CASE WHEN $13 THEN t.auth_token ELSE excluded.auth_token END,
			headers = excluded.headers, health_url = excluded.health_url, probe = excluded.probe,
			account = excluded.account, variables = excluded.variables RETURNING `+botColumns,
			string(b.ID), b.Name, b.Active, b.Seats, table.List(b.Endpoints), b.AuthToken, b.headers, b.HealthURL, b.Probe,
			b.Account, table.List(b.Variables), table.OrNow(b.CreatedAt), keepSecret)
		row, err := pgx.CollectExactlyOneRow(rows, scanBot)
		if err != nil {
			return err
		}
		if stored, err = s.openBot(row); err != nil {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartBot, string(bot.ID), table.Verb("bot", created), string(bot.ID), who)
	})
	return stored, created, err
}

// DeleteBot removes a bot. While running or paused campaigns use it, that needs force: they fail
// without it. It returns NotFound "bot_not_found" when there is none.
func (s *Configuration) DeleteBot(ctx context.Context, id engine.BotID, force bool, who engine.Who) error {
	return s.db.InTx(ctx, "bot not deleted", func(tx pgx.Tx) error {
		gone, err := table.Absent(ctx, tx, "bots", "id", string(id))
		if err != nil {
			return err
		}
		if gone {
			return engine.NotFound("bot_not_found", "")
		}
		if !force {
			if err := unused(ctx, tx, id); err != nil {
				return err
			}
		}
		rows, err := s.db.Going(ctx, tx, table.PartBot, string(id))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM bots WHERE id = $1", string(id)); err != nil {
			return err
		}
		return s.db.NoteWritten(ctx, tx, rows, "bot.deleted", string(id), who)
	})
}

// usersCap is how many campaigns a refusal names.
const usersCap = 20

// usedBy names campaigns that use a thing: where compares with it as $1.
func usedBy(ctx context.Context, tx pgx.Tx, where, id string) ([]engine.FieldError, error) {
	rows, _ := tx.Query(ctx, "SELECT id, name, state FROM campaigns WHERE "+where+" ORDER BY created_at, id LIMIT $2",
		id, usersCap)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (f engine.FieldError, err error) {
		f.Field = "campaign_id"
		var campaign, name string
		err = row.Scan(&campaign, &name, &f.Code)
		f.Message = campaign + " (" + name + ") is " + f.Code
		return f, err
	})
}

// unused refuses when running or paused campaigns use the bot.
func unused(ctx context.Context, tx pgx.Tx, id engine.BotID) error {
	users, err := usedBy(ctx, tx, "bot_id = $1 AND state IN ('running', 'paused')", string(id))
	if err != nil {
		return err
	}
	rows, _ := tx.Query(ctx, "SELECT number FROM numbers WHERE callback_bot = $1 AND callback_policy = $2 "+
		"ORDER BY number LIMIT $3", string(id), string(inbound.Bot), usersCap)
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, n := range numbers {
		users = append(users, engine.FieldError{Field: "number", Code: "callback_bot",
			Message: n + " gives it to those who call back"})
	}
	if len(users) == 0 {
		return nil
	}
	e := engine.Conflict("bot_in_use", "campaigns that are running or paused use this bot and would fail, or numbers "+
		"give it to those who call back; stop or change them, or delete it with force=true")
	e.Fields = users
	return e
}
