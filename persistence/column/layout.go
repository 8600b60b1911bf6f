package column

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
)

// Layout is a table's row type as the database knows it: rows are sent in it. It is read from the
// database, because its identifier differs between schemas and a later migration may have added
// columns that this program does not know; those are sent as null and not named in the insert.
type Layout struct {
	oid   uint32
	slots []slot
}

type slot struct {
	name   string
	oid    uint32
	column int // index into the list of columns; -1 if not one of ours
}

func ReadLayout[T any](ctx context.Context, tx pgx.Tx, l *Layout, table string, cols []Of[T]) error {
	at := make(map[string]int, len(cols))
	for i, c := range cols {
		at[c.Name] = i
	}
	if err := tx.QueryRow(ctx, "SELECT reltype FROM pg_class WHERE oid = $1::text::regclass",
		table).Scan(&l.oid); err != nil {
		return err
	}
	rows, _ := tx.Query(ctx, `SELECT attname, atttypid FROM pg_attribute
		WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, table)
	var name string
	var oid uint32
	_, err := pgx.ForEachRow(rows, []any{&name, &oid}, func() error {
		s := slot{name: name, oid: oid, column: -1}
		if i, ok := at[name]; ok {
			s.column = i
			if cols[i].Typ.oid != oid {
				return mismatch(table, name)
			}
			delete(at, name)
		}
		l.slots = append(l.slots, s)
		return nil
	})
	if err != nil {
		return err
	}
	for name := range at {
		return mismatch(table, name)
	}
	return nil
}

func mismatch(table, column string) error {
	return engine.Unavailable("schema_mismatch", "the database's schema does not match this program: "+table+"."+column,
		0)
}
