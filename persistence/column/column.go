// Package column maps a struct to the row of a table: one list of columns serves both writing and
// reading. Rows are sent as arrays in PostgreSQL's binary form, built straight from the structs.
package column

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Of is a column of the struct T. A struct that is stored as one row has one list of columns, which
// serves both writing and reading. Adding a field takes one line in its list and one in a
// migration.
type Of[T any] struct {
	Name string
	Typ  *Type
	Put  func(a *Array, row *T) error
	Into func(row *T) any // scan target; nil for a derived column, which is never read
	set  string           // what an upsert sets: "" = the new value, "-" = nothing
}

type Type struct {
	name string
	oid  uint32
}

var (
	TypeText   = &Type{"text", pgtype.TextOID}
	TypeBool   = &Type{"boolean", pgtype.BoolOID}
	TypeInt4   = &Type{"integer", pgtype.Int4OID}
	TypeInt8   = &Type{"bigint", pgtype.Int8OID}
	typeFloat8 = &Type{"double precision", pgtype.Float8OID}
	typeTime   = &Type{"timestamptz", pgtype.TimestamptzOID}
	typeUUID   = &Type{"uuid", pgtype.UUIDOID}
	TypeJSON   = &Type{"jsonb", pgtype.JSONBOID}
	TypeBytea  = &Type{"bytea", pgtype.ByteaOID}
)

// TypeName is the name of a type that a mapping uses, "" for any other.
func TypeName(oid uint32) string {
	for _, t := range []*Type{TypeText, TypeBool, TypeInt4, TypeInt8, typeFloat8, typeTime, typeUUID, TypeJSON,
		TypeBytea} {
		if t.oid == oid {
			return t.name
		}
	}
	return ""
}

func Text[T any, S ~string](name string, f func(*T) *S) Of[T] {
	return Of[T]{Name: name, Typ: TypeText,
		Put:  func(a *Array, r *T) error { a.Text(string(*f(r))); return nil },
		Into: func(r *T) any { return f(r) }}
}

func Boolean[T any](name string, f func(*T) *bool) Of[T] {
	return Of[T]{Name: name, Typ: TypeBool,
		Put:  func(a *Array, r *T) error { a.Bool(*f(r)); return nil },
		Into: func(r *T) any { return f(r) }}
}

func Integer[T any, N ~int | ~int32 | ~int64](name string, f func(*T) *N) Of[T] {
	return Of[T]{Name: name, Typ: TypeInt4,
		Put:  func(a *Array, r *T) error { a.Int4(int64(*f(r))); return nil },
		Into: func(r *T) any { return f(r) }}
}

func Bigint[T any, N ~int | ~int64](name string, f func(*T) *N) Of[T] {
	return Of[T]{Name: name, Typ: TypeInt8,
		Put:  func(a *Array, r *T) error { a.Int8(int64(*f(r))); return nil },
		Into: func(r *T) any { return f(r) }}
}

func Float[T any](name string, f func(*T) *float64) Of[T] {
	return Of[T]{Name: name, Typ: typeFloat8,
		Put:  func(a *Array, r *T) error { a.float8(*f(r)); return nil },
		Into: func(r *T) any { return f(r) }}
}

// Instant is a column of a time that is always set; moment is one of a time that may be missing.
func Instant[T any](name string, f func(*T) *time.Time) Of[T] {
	return Of[T]{Name: name, Typ: typeTime,
		Put:  func(a *Array, r *T) error { a.Instant(*f(r)); return nil },
		Into: func(r *T) any { return f(r) }}
}

func Moment[T any](name string, f func(*T) **time.Time) Of[T] {
	return Of[T]{Name: name, Typ: typeTime,
		Put:  func(a *Array, r *T) error { a.moment(*f(r)); return nil },
		Into: func(r *T) any { return f(r) }}
}

// Identifier is a column of 32 hex digits, null when empty.
func Identifier[T any, S ~string](name string, f func(*T) *S) Of[T] {
	return Of[T]{Name: name, Typ: typeUUID,
		Put:  func(a *Array, r *T) error { a.ID(string(*f(r))); return nil },
		Into: func(r *T) any { return Hex(f(r)) }}
}

// Object is stored as JSON; present says whether there is anything to store.
func Object[T, V any](name string, f func(*T) *V, present func(*V) bool) Of[T] {
	return Of[T]{Name: name, Typ: TypeJSON,
		Put: func(a *Array, r *T) error {
			v := f(r)
			if !present(v) {
				a.Null()
				return nil
			}
			return a.JSON(v)
		},
		Into: func(r *T) any { return f(r) }}
}

func Always[V any](*V) bool                    { return true }
func Present[V any](v **V) bool                { return *v != nil }
func Filled[V any, M ~map[string]V](m *M) bool { return len(*m) > 0 }

// Derived is written for the database's own use and never read back.
func Derived[T any](name string, typ *Type, put func(a *Array, row *T)) Of[T] {
	return Of[T]{Name: name, Typ: typ, Put: func(a *Array, r *T) error { put(a, r); return nil }}
}

// Hex is the scan target for a uuid that the program holds as 32 hex digits.
func Hex[S ~string](dst *S) any { return hexInto[S]{dst} }

// hexInto scans a uuid into 32 hex digits.
type hexInto[S ~string] struct{ dst *S }

func (h hexInto[S]) ScanUUID(v pgtype.UUID) error {
	*h.dst = ""
	if v.Valid {
		*h.dst = S(FormatID(v.Bytes))
	}
	return nil
}

// Names lists the columns that are read, each with the table's alias.
func Names[T any](cols []Of[T], alias string) string {
	var b strings.Builder
	for _, c := range cols {
		if c.Into == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(alias + "." + c.Name)
	}
	return b.String()
}

// Targets lists the scan targets for a row that was read by Names.
func Targets[T any](cols []Of[T], row *T, dst []any) []any {
	for _, c := range cols {
		if c.Into != nil {
			dst = append(dst, c.Into(row))
		}
	}
	return dst
}

// InsertFrom is the head of a multi-row insert. The rows are sent as one array of the table's row
// type: with one array per column the server would spend more on unpacking fifty parameters than on
// the rows.
func InsertFrom[T any](table string, cols []Of[T]) string {
	var into strings.Builder
	for i, c := range cols {
		if i > 0 {
			into.WriteString(", ")
		}
		into.WriteString(c.Name)
	}
	return "INSERT INTO " + table + " AS t (" + into.String() + ") SELECT " + into.String() + " FROM unnest($1::" +
		table + "[])"
}

// UpsertInto is InsertFrom with a conflict clause: it updates an existing row when the condition
// holds.
func UpsertInto[T any](table string, cols []Of[T], key, when string) string {
	var b strings.Builder
	b.WriteString(InsertFrom(table, cols))
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
			v = "excluded." + c.Name
		}
		b.WriteString(c.Name + " = " + v)
	}
	b.WriteString(" WHERE " + when)
	return b.String()
}

// UpdateInto updates the rows of a table with the columns of another when the condition holds. The
// rows come as u, in that other table's row type.
func UpdateInto[T any](table, rows string, cols []Of[T], when string) string {
	var set []string
	for _, c := range cols {
		if c.set != "-" {
			set = append(set, c.Name+" = u."+c.Name)
		}
	}
	return "UPDATE " + table + " AS t SET " + strings.Join(
		set,
		", ",
	) + " FROM unnest($1::" + rows + "[]) AS u WHERE " + when
}

// Batch builds the parameter of one multi-row statement.
type Batch[T any] struct {
	cols  []Of[T]
	shape *Layout
	rows  Array
	at    []int // where each column of the last row begins
}

func (b *Batch[T]) Reset(cols []Of[T], shape *Layout) {
	b.cols, b.shape = cols, shape
	b.rows.Reset(shape.oid)
}

// Add appends a row: its length, the number of its columns, and for each column its type, length
// and value.
func (b *Batch[T]) Add(row *T) error {
	a := &b.rows
	n, start := a.n, len(a.buf)
	a.buf = binary.BigEndian.AppendUint32(a.buf, 0)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(b.shape.slots))) //nolint:gosec // a table has few columns
	b.at = b.at[:0]
	for _, s := range b.shape.slots {
		a.buf = binary.BigEndian.AppendUint32(a.buf, s.oid)
		b.at = append(b.at, len(a.buf))
		if s.column < 0 {
			a.Null()
		} else if err := b.cols[s.column].Put(a, row); err != nil {
			return err
		}
	}
	binary.BigEndian.PutUint32(a.buf[start:], uint32(len(a.buf)-start-4)) //nolint:gosec // fits in memory
	a.n, a.nulls = n+1, false
	return nil
}

// Param gives the finished parameter.
func (b *Batch[T]) Param() []byte { return b.rows.Param() }

// Empty says whether the batch has no row.
func (b *Batch[T]) Empty() bool { return b.rows.Empty() }

// Immutable marks a column that an upsert leaves unchanged.
func Immutable[T any](c Of[T]) Of[T] {
	c.set = "-"
	return c
}

// Merged gives a column its own expression in an upsert.
func Merged[T any](c Of[T], expression string) Of[T] {
	c.set = expression
	return c
}

// Binary is the format of every parameter and result.
var Binary = []int16{1}

// Exec runs a multi-row statement outside a group commit.
func Exec[T any](ctx context.Context, tx pgx.Tx, sql string, cols []Of[T], shape *Layout, rows ...*T) error {
	var b Batch[T]
	b.Reset(cols, shape)
	for _, r := range rows {
		if err := b.Add(r); err != nil {
			return err
		}
	}
	_, err := tx.Conn().PgConn().ExecParams(ctx, sql, [][]byte{b.Param()}, nil, Binary, nil).Close()
	return err
}
