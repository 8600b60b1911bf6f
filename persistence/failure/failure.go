// Package failure says what an error of the database means: whether it is away and
// why, whether rows can never be stored, or that something is wrong with us.
package failure

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dialler/engine"
)

// Away says why the database takes nothing now. All of these pass, by
// themselves or by an operator's hand: what was to be written is tried again.
type Away string

// The reasons.
const (
	Unreachable Away = "unreachable" // nobody listens, the connection broke, the server starts or stops
	Silent      Away = "silent"      // no answer in time
	Full        Away = "full"        // no space on the volume of the data or of the log
	Exhausted   Away = "exhausted"   // out of memory, connections or another resource
	ReadOnly    Away = "read_only"   // a standby, or a server that was told so
	Failing     Away = "failing"     // its storage gives errors
	Busy        Away = "busy"        // locks, deadlocks, conflicts with others
	Closed      Away = "closed"      // it refuses our credentials, or has no such database
	Renewing    Away = "renewing"    // another server took its place; nodes tell it of their calls
)

// AwayCode is the one code of every answer that the database is owed.
const AwayCode = "database_unavailable"

// sentences say what is wrong and what to do.
var sentences = map[Away]string{
	Unreachable: "the database cannot be reached; it is tried again, see that the server runs",
	Silent:      "the database does not answer in time; it is tried again, see what the server is busy with",
	Full:        "the volume of the database is full; make room on it, the rest goes by itself",
	Exhausted: "the database is out of memory, connections or another resource; it is tried again, give the server " +
		"more",
	ReadOnly: "the database takes no writes: it is a standby or was made read-only; promote it, end that, or " +
		"point DATABASE_URL at the primary",
	Failing: "the storage of the database gives errors; look into the server's log",
	Busy:    "the database is locked by something else; it is tried again",
	Closed:  "the database refuses us: wrong credentials, or no such database; check DATABASE_URL",
	Renewing: "another server has taken the database's place; the nodes write there what their live calls hold, " +
		"for some seconds",
}

// verdict is what an error of the database means for what was to be written.
type verdict int

const (
	faulty       verdict = iota // a fault of ours, or of the schema
	AwayNow                     // nothing of it: it is tried again
	Unacceptable                // these rows can never be stored; others can
)

// Judge says what an error means. Only what is wrong with the rows themselves is
// unacceptable: a full disk, a lock or a standby must never drop a write.
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
	case "57014": // cancelled, by a time-out of the server's too
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

// Why gives the reason of an error of this package, "" when the database was
// not away.
func Why(err error) Away {
	if err == nil {
		return ""
	}
	_, away := Judge(err)
	return away
}

// OfAway is how the rest of the program hears that the database is away.
func OfAway(why Away, cause error) error {
	return &Error{says: engine.Unavailable(AwayCode, sentences[why], time.Second), cause: cause, Why: why}
}

func BadURL(error) error {
	// The parser's text may repeat the password.
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
	Why   Away // "" = it is not away
}

func (e *Error) Error() string   { return e.says.Error() + ": " + e.cause.Error() }
func (e *Error) Unwrap() []error { return []error{e.says, e.cause} }

// SQLState gives the code of an error that the server reported, else "".
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
