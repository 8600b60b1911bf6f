package settings

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/sealed"
	"dialler/persistence/table"
)

// trunkColumn is one column of a trunk; its field is both the value written and the scan target.
type trunkColumn struct {
	name  string
	field func(*engine.TrunkSettings) any
}

var trunkColumns = []trunkColumn{
	{"id", func(t *engine.TrunkSettings) any { return &t.ID }},
	{"host", func(t *engine.TrunkSettings) any { return &t.Host }},
	{"port", func(t *engine.TrunkSettings) any { return &t.Port }},
	{"transport", func(t *engine.TrunkSettings) any { return &t.Transport }},
	{"kind", func(t *engine.TrunkSettings) any { return &t.Kind }},
	{"username", func(t *engine.TrunkSettings) any { return &t.Username }},
	{"password", func(t *engine.TrunkSettings) any { return &t.Password }},
	{"from_domain", func(t *engine.TrunkSettings) any { return &t.FromDomain }},
	{"from_user", func(t *engine.TrunkSettings) any { return &t.FromUser }},
	{"caller_id_header", func(t *engine.TrunkSettings) any { return &t.CallerIDHeader }},
	{"privacy", func(t *engine.TrunkSettings) any { return &t.Privacy }},
	{"number_format", func(t *engine.TrunkSettings) any { return &t.NumberFormat }},
	{"number_country", func(t *engine.TrunkSettings) any { return &t.NumberCountry }},
	{"outbound_proxy", func(t *engine.TrunkSettings) any { return &t.OutboundProxy }},
	{"listener", func(t *engine.TrunkSettings) any { return &t.Listener }},
	{"external_host", func(t *engine.TrunkSettings) any { return &t.ExternalHost }},
	{"tls_server_name", func(t *engine.TrunkSettings) any { return &t.TLSServerName }},
	{"tls_roots", func(t *engine.TrunkSettings) any { return &t.TLSRoots }},
	{"tls_certificate", func(t *engine.TrunkSettings) any { return &t.TLSCertificate }},
	{"tls_key", func(t *engine.TrunkSettings) any { return &t.TLSKey }},
	{"tls_insecure", func(t *engine.TrunkSettings) any { return &t.TLSInsecure }},
	{"register_s", func(t *engine.TrunkSettings) any { return &t.RegisterSec }},
	{"user_agent", func(t *engine.TrunkSettings) any { return &t.UserAgent }},
	{"extra_headers", func(t *engine.TrunkSettings) any { return &t.ExtraHeaders }},
	{"redirects", func(t *engine.TrunkSettings) any { return &t.Redirects }},
	{"reliable_provisionals", func(t *engine.TrunkSettings) any { return &t.ReliableProvisionals }},
	{"session_s", func(t *engine.TrunkSettings) any { return &t.SessionSec }},
	{"inbound", func(t *engine.TrunkSettings) any { return &t.Inbound }},
	{"media", func(t *engine.TrunkSettings) any { return &t.Media }},
	{"cps_cap", func(t *engine.TrunkSettings) any { return &t.CPSCap }},
	{"channel_cap", func(t *engine.TrunkSettings) any { return &t.ChannelCap }},
	{"priority", func(t *engine.TrunkSettings) any { return &t.Priority }},
	{"weight", func(t *engine.TrunkSettings) any { return &t.Weight }},
	{"options_s", func(t *engine.TrunkSettings) any { return &t.OptionsSec }},
	{"active", func(t *engine.TrunkSettings) any { return &t.Active }},
	{"origin", func(t *engine.TrunkSettings) any { return &t.Origin }},
}

func trunkFields(t *engine.TrunkSettings) []any {
	out := make([]any, len(trunkColumns))
	for i, c := range trunkColumns {
		out[i] = c.field(t)
	}
	return out
}

func scanTrunk(row pgx.CollectableRow) (t engine.TrunkSettings, err error) {
	err = row.Scan(trunkFields(&t)...)
	return t, err
}

// selectTrunks and upsertTrunk are built from one list of columns. The parameter after the columns
// says whether the stored password stays.
var selectTrunks, upsertTrunk = trunkStatements()

func trunkStatements() (read, write string) {
	var names, places, sets []string
	keep := fmt.Sprintf("$%d::boolean", len(trunkColumns)+1)
	for i, c := range trunkColumns {
		names, places = append(names, c.name), append(places, fmt.Sprintf("$%d", i+1))
		switch c.name {
		case "id":
		case "password":
			sets = append(sets, "password = CASE WHEN "+keep+" THEN t.password ELSE excluded.password END")
		default:
			sets = append(sets, c.name+" = excluded."+c.name)
		}
	}
	list := strings.Join(names, ", ")
	return "SELECT " + list + " FROM trunks ORDER BY priority, id",
		"INSERT INTO trunks AS t (" + list + ") VALUES (" + strings.Join(places, ", ") +
			") ON CONFLICT (id) DO UPDATE SET " + strings.Join(sets, ", ")
}

// Trunks lists every trunk in the order in which they are tried.
func (s *Configuration) Trunks(ctx context.Context) ([]engine.TrunkSettings, error) {
	rows, _ := s.db.Read.Query(ctx, selectTrunks)
	list, err := pgx.CollectRows(rows, scanTrunk)
	if err != nil {
		return nil, s.db.Wrap("trunks not read", err)
	}
	for i := range list {
		if list[i].Password, err = s.db.Config.Secrets.Open(sealed.TrunkPlace(list[i].ID),
			list[i].Password); err != nil {
			return nil, err
		}
		if list[i].TLSKey, err = s.db.Config.Secrets.Open(sealed.TrunkKeyPlace(list[i].ID), list[i].TLSKey); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// PutTrunk creates or replaces a trunk by its identifier; with keepSecret the
// stored Password stays.
func (s *Configuration) PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool,
	who engine.Who) (created bool, err error) {
	if t.Password, err = s.db.Config.Secrets.Seal(sealed.TrunkPlace(t.ID), t.Password); err != nil {
		return false, err
	}
	if t.TLSKey, err = s.db.Config.Secrets.Seal(sealed.TrunkKeyPlace(t.ID), t.TLSKey); err != nil {
		return false, err
	}
	err = s.db.InTx(ctx, "trunk not stored", func(tx pgx.Tx) error {
		if created, err = table.Absent(ctx, tx, "trunks", "id", string(t.ID)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, upsertTrunk, append(trunkFields(&t), keepSecret)...); err != nil {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartTrunk, string(t.ID), table.Verb("trunk", created), string(t.ID), who)
	})
	return created, err
}

// DeleteTrunk removes a trunk. NotFound "trunk_not_found".
func (s *Configuration) DeleteTrunk(ctx context.Context, id engine.TrunkID, who engine.Who) error {
	return s.db.InTx(ctx, "trunk not deleted", func(tx pgx.Tx) error {
		rows, err := s.db.Going(ctx, tx, table.PartTrunk, string(id))
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, "DELETE FROM trunks WHERE id = $1", string(id))
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return engine.NotFound("trunk_not_found", "")
		}
		return s.db.NoteWritten(ctx, tx, rows, journal.Type("trunk.deleted"), string(id), who)
	})
}
