package persistence

import "context"

// QueryRow runs a query of the operator's tools and tests that gives one row.
func (s *Store) QueryRow(ctx context.Context, sql string, dst ...any) error {
	return s.wrap("query failed", s.read.QueryRow(ctx, sql).Scan(dst...))
}
