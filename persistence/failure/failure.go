// Package failure classifies the errors of the database: whether it is unavailable and why, whether
// rows can never be stored, or whether the fault is ours.
package failure

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dialler/engine"
)

// Away says why the database accepts nothing now. Every such condition passes, by itself or after
// an operator's action: the write is retried.
type Away string

// The reasons.
const (
	Unreachable Away = "unreachable" // not listening, connection broken, starting or stopping
	Silent      Away = "silent"      // no answer in time
	Full        Away = "full"        // no space on the volume of the data or of the log
	Exhausted   Away = "exhausted"   // out of memory, connections or another resource
	ReadOnly    Away = "read_only"   // a standby, or a server set to read-only
	Failing     Away = "failing"     // its storage reports errors
	Busy        Away = "busy"        // locks, deadlocks, serialization conflicts
	Closed      Away = "closed"      // it refuses our credentials, or the database does not exist
	Renewing    Away = "renewing"    // another server has replaced it; nodes write their calls there
)

// AwayCode is the code of every answer that fails because the database is unavailable.
const AwayCode = "database_unavailable"

// sentences say what is wrong and how to fix it.
var sentences = map[Away]string{
	Unreachable: "the database cannot be reached; it is tried again, check that the server runs",
	Silent:      "the database does not answer in time; it is tried again, check what the server is busy with",
	Full:        "the database's volume is full; make room on it, the rest is automatic",
	Exhausted: "the database is out of memory, connections or another resource; it is tried again, give the server " +
		"more",
	ReadOnly: "the database takes no writes: it is a standby or was made read-only; promote it, make it writable, or " +
		"point DATABASE_URL at the primary",
	Failing: "the database's storage returns errors; see the server's log",
	Busy:    "the database is locked by something else; it is tried again",
	Closed:  "the database refuses us: wrong credentials, or no such database; check DATABASE_URL",
	Renewing: "another server has taken the database's place; for some seconds the nodes write to it what their live " +
		"calls hold",
}

// verdict is what an error of the database means for the write.
type verdict int

const (
	faulty       verdict = iota // a fault of ours, or of the schema
	AwayNow                     // not stored; it is retried
	Unacceptable                // these rows can never be stored; others can
)

// Judge classifies an error. Only faults of the rows themselves are unacceptable: a full disk, a
// lock or a standby must never drop a write.
func Judge(err error) (verdict, Away) {
	var known *Error
	if errors.As(err, &known) {
		if known.Why != "" {
			return AwayNow, known.Why
		}
		err = known.cause
	}
	var encode *Unencodable
	if errors.As(err, &encode) {
		return Unacceptable, ""
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return judgeState(pg.Code)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return AwayNow, Silent
	case errors.Is(err, context.Canceled), errors.Is(err, pgx.ErrNoRows):
		return faulty, ""
	}
	var says *engine.Error
	if errors.As(err, &says) {
		return faulty, ""
	}
	return AwayNow, Unreachable
}

// judgeState reads an SQLSTATE (PostgreSQL, appendix A).
func judgeState(state string) (verdict, Away) {
	switch state {
	case "25006":
		return AwayNow, ReadOnly
	case "53100":
		return AwayNow, Full
	case "57014": // cancelled, possibly by a timeout of the server
		return AwayNow, Silent
	case "25P03", "57P01", "57P02", "57P03", "57P05":
		return AwayNow, Unreachable
	case "57P04", "3D000":
		return AwayNow, Closed
	}
	if len(state) != 5 {
		return faulty, ""
	}
	switch state[:2] {
	case "08":
		return AwayNow, Unreachable
	case "28":
		return AwayNow, Closed
	case "40", "55":
		return AwayNow, Busy
	case "53":
		return AwayNow, Exhausted
	case "58":
		return AwayNow, Failing
	case "21", "22", "23", "54": // values, constraints, rows beyond the server's limits
		return Unacceptable, ""
	}
	return faulty, ""
}

// Why returns the reason of an error of this package, "" when the database was available.
func Why(err error) Away {
	if err == nil {
		return ""
	}
	_, away := Judge(err)
	return away
}

// OfAway returns the error that tells the rest of the program that the database is unavailable.
func OfAway(why Away, cause error) error {
	return &Error{says: engine.Unavailable(AwayCode, sentences[why], time.Second), cause: cause, Why: why}
}

func BadURL(error) error {
	// The parser's text may contain the password.
	return engine.Invalid("database_url_invalid", "")
}

// New is an error of the database with a code and a remedy; the cause
// stays reachable for the log and for errors.As.
func New(code, detail string, cause error) error {
	return &Error{says: engine.Unavailable(code, detail, time.Second), cause: cause}
}

type Error struct {
	says  *engine.Error
	cause error
	Why   Away // "" means it is available
}

func (e *Error) Error() string   { return e.says.Error() + ": " + e.cause.Error() }
func (e *Error) Unwrap() []error { return []error{e.says, e.cause} }

// SQLState returns the code of an error that the server reported, otherwise "".
func SQLState(err error) (state, constraint string) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code, pg.ConstraintName
	}
	return "", ""
}

type Unencodable struct{ Err error }

func (e *Unencodable) Error() string { return e.Err.Error() }
func (e *Unencodable) Unwrap() error { return e.Err }
