// Package migrations contains the schema as steps that the store runs in order when it opens. A
// released step is never edited; a change is a new step.
package migrations

import "embed"

// FS holds the steps, named <number>_<what>.sql.
//
//go:embed *.sql
var FS embed.FS
