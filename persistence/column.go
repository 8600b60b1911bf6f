package persistence

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// A struct that is stored as one row has one list of columns, which serves the
// writing and the reading of it. A field more is one line in its list and one
// line in a migration.
type column[T any] struct {
	name string
	typ  *columnType
	put  func(a *array, row *T) error
	into func(row *T) any // where a scan goes; nil: derived, written but not read
	set  string           // what an upsert sets, "" = the new value, "-" = nothing
}

type columnType struct {
	name string
	oid  uint32
}

var (
	typeText   = &columnType{"text", pgtype.TextOID}
	typeBool   = &columnType{"boolean", pgtype.BoolOID}
	typeInt4   = &columnType{"integer", pgtype.Int4OID}
	typeInt8   = &columnType{"bigint", pgtype.Int8OID}
	typeFloat8 = &columnType{"double precision", pgtype.Float8OID}
	typeTime   = &columnType{"timestamptz", pgtype.TimestamptzOID}
	typeUUID   = &columnType{"uuid", pgtype.UUIDOID}
	typeJSON   = &columnType{"jsonb", pgtype.JSONBOID}
	typeBytea  = &columnType{"bytea", pgtype.ByteaOID}
)

func text[T any, S ~string](name string, f func(*T) *S) column[T] {
	return column[T]{name: name, typ: typeText,
		put:  func(a *array, r *T) error { a.text(string(*f(r))); return nil },
		into: func(r *T) any { return f(r) }}
}

func boolean[T any](name string, f func(*T) *bool) column[T] {
	return column[T]{name: name, typ: typeBool,
		put:  func(a *array, r *T) error { a.bool(*f(r)); return nil },
		into: func(r *T) any { return f(r) }}
}

func integer[T any, N ~int | ~int32 | ~int64](name string, f func(*T) *N) column[T] {
	return column[T]{name: name, typ: typeInt4,
		put:  func(a *array, r *T) error { a.int4(int64(*f(r))); return nil },
		into: func(r *T) any { return f(r) }}
}

func bigint[T any, N ~int | ~int64](name string, f func(*T) *N) column[T] {
	return column[T]{name: name, typ: typeInt8,
		put:  func(a *array, r *T) error { a.int8(int64(*f(r))); return nil },
		into: func(r *T) any { return f(r) }}
}

func float[T any](name string, f func(*T) *float64) column[T] {
	return column[T]{name: name, typ: typeFloat8,
		put:  func(a *array, r *T) error { a.float8(*f(r)); return nil },
		into: func(r *T) any { return f(r) }}
}

// instant is a time that is always there, moment one that may be missing.
func instant[T any](name string, f func(*T) *time.Time) column[T] {
	return column[T]{name: name, typ: typeTime,
		put:  func(a *array, r *T) error { a.instant(*f(r)); return nil },
		into: func(r *T) any { return f(r) }}
}

func moment[T any](name string, f func(*T) **time.Time) column[T] {
	return column[T]{name: name, typ: typeTime,
		put:  func(a *array, r *T) error { a.moment(*f(r)); return nil },
		into: func(r *T) any { return f(r) }}
}

// identifier is 32 hex digits, null when empty.
func identifier[T any, S ~string](name string, f func(*T) *S) column[T] {
	return column[T]{name: name, typ: typeUUID,
		put:  func(a *array, r *T) error { a.id(string(*f(r))); return nil },
		into: func(r *T) any { return hexInto[S]{f(r)} }}
}

// object is stored as JSON; present says whether there is anything to store.
func object[T, V any](name string, f func(*T) *V, present func(*V) bool) column[T] {
	return column[T]{name: name, typ: typeJSON,
		put: func(a *array, r *T) error {
			v := f(r)
			if !present(v) {
				a.null()
				return nil
			}
			return a.json(v)
		},
		into: func(r *T) any { return f(r) }}
}

func always[V any](*V) bool                    { return true }
func present[V any](v **V) bool                { return *v != nil }
func filled[V any, M ~map[string]V](m *M) bool { return len(*m) > 0 }

// derived is written for the database's own use and never read back.
func derived[T any](name string, typ *columnType, put func(a *array, row *T)) column[T] {
	return column[T]{name: name, typ: typ, put: func(a *array, r *T) error { put(a, r); return nil }}
}

// hexInto scans a uuid as the 32 hex digits that it is outside.
type hexInto[S ~string] struct{ dst *S }

func (h hexInto[S]) ScanUUID(v pgtype.UUID) error {
	*h.dst = ""
	if v.Valid {
		*h.dst = S(formatID(v.Bytes))
	}
	return nil
}

// names lists the columns that are read, each with the table's alias.
func names[T any](cols []column[T], alias string) string {
	var b strings.Builder
	for _, c := range cols {
		if c.into == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(alias + "." + c.name)
	}
	return b.String()
}

// targets lists where a row that was read by names goes.
func targets[T any](cols []column[T], row *T, dst []any) []any {
	for _, c := range cols {
		if c.into != nil {
			dst = append(dst, c.into(row))
		}
	}
	return dst
}

// insertFrom is the head of a multi-row insert. The rows come as one array of
// the table's row type: with an array for each column the server spends more
// on taking fifty parameters apart than on the rows.
func insertFrom[T any](table string, cols []column[T]) string {
	var into strings.Builder
	for i, c := range cols {
		if i > 0 {
			into.WriteString(", ")
		}
		into.WriteString(c.name)
	}
	return "INSERT INTO " + table + " AS t (" + into.String() + ") SELECT " + into.String() + " FROM unnest($1::" + table + "[])"
}

// upsertInto adds what happens to a row that exists, when the condition holds.
func upsertInto[T any](table string, cols []column[T], key, when string) string {
	var b strings.Builder
	b.WriteString(insertFrom(table, cols))
	b.WriteString(" ON CONFLICT (" + key + ") DO UPDATE SET ")
	first := true
	for _, c := range cols {
		if c.set == "-" {
			continue
		}
		if !first {
			b.WriteString(", ")
		}
		first = false
		v := c.set
		if v == "" {
			v = "excluded." + c.name
		}
		b.WriteString(c.name + " = " + v)
	}
	b.WriteString(" WHERE " + when)
	return b.String()
}

// batchRows builds the parameter of one multi-row statement.
type batchRows[T any] struct {
	cols  []column[T]
	shape *layout
	rows  array
}

func (b *batchRows[T]) reset(cols []column[T], shape *layout) {
	b.cols, b.shape = cols, shape
	b.rows.reset(shape.oid)
}

// add appends a row: its length, the number of its columns, and for each its
// type, length and value.
func (b *batchRows[T]) add(row *T) error {
	a := &b.rows
	n, start := a.n, len(a.buf)
	a.buf = binary.BigEndian.AppendUint32(a.buf, 0)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(b.shape.slots))) //nolint:gosec // a table has few columns
	for _, s := range b.shape.slots {
		a.buf = binary.BigEndian.AppendUint32(a.buf, s.oid)
		if s.column < 0 {
			a.null()
		} else if err := b.cols[s.column].put(a, row); err != nil {
			return err
		}
	}
	binary.BigEndian.PutUint32(a.buf[start:], uint32(len(a.buf)-start-4)) //nolint:gosec // fits in memory
	a.n, a.nulls = n+1, false
	return nil
}

// immutable marks columns that an upsert leaves as they are.
func immutable[T any](c column[T]) column[T] {
	c.set = "-"
	return c
}

// merged gives a column its own expression in an upsert.
func merged[T any](c column[T], expression string) column[T] {
	c.set = expression
	return c
}

// execRows runs a multi-row statement outside a group commit.
func execRows[T any](ctx context.Context, tx pgx.Tx, sql string, cols []column[T], shape *layout, rows ...*T) error {
	var b batchRows[T]
	b.reset(cols, shape)
	for _, r := range rows {
		if err := b.add(r); err != nil {
			return err
		}
	}
	_, err := tx.Conn().PgConn().ExecParams(ctx, sql, [][]byte{b.rows.param()}, nil, binaryFormat, nil).Close()
	return err
}
