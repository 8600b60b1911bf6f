package journal

import (
	"errors"
	"time"

	"dialler/engine"
)

// Temporary says whether the database may succeed later: it is unavailable, or failed in a way that
// is not one of its refusals.
func Temporary(err error) bool {
	if err == nil {
		return false
	}
	var e *engine.Error
	return !errors.As(err, &e) || e.Code == "database_unavailable"
}

// Unavailable turns an adapter's failure into an answer that says to try again.
func Unavailable(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return engine.Unavailable("database_unavailable", "the database does not answer; try again", time.Second)
}
