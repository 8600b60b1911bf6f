package exclusions

import (
	"errors"
	"io"
	"strconv"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contactlist"
	"dialler/http/form"
	"dialler/http/wire"
)

// Files of numbers: CSV with a column phone_number, whose numbers are processed as they come in.

// rejectedSample is how many of a file's invalid rows are listed.
const rejectedSample = 100

// numbersFile is the result of one.
type numbersFile struct {
	Rows     int                    `json:"rows"`
	Invalid  int                    `json:"invalid"`
	Rejected []campaign.RejectedRow `json:"rejected"` // the first invalid rows
}

// readNumbers reads a file to its end and passes its numbers on, atOnce at a time; the slice is
// reused.
func readNumbers(file io.Reader, atOnce int, take func([]engine.PhoneNumber) error) (out numbersFile, err error) {
	out.Rejected = []campaign.RejectedRow{}
	chunk := make([]engine.PhoneNumber, 0, atOnce)
	in := contactlist.NewReader(file)
	for {
		row, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		out.Rows++
		if row.Reason != "" {
			out.Invalid++
			if len(out.Rejected) < rejectedSample {
				out.Rejected = append(
					out.Rejected,
					campaign.RejectedRow{Line: row.Line, Number: row.Given, Reason: row.Reason,
						Message: row.Message},
				)
			}
			continue
		}
		if chunk = append(chunk, row.Number); len(chunk) == atOnce {
			if err := take(chunk); err != nil {
				return out, err
			}
			chunk = chunk[:0]
		}
	}
	if len(chunk) == 0 {
		return out, nil
	}
	return out, take(chunk)
}

// fileReason reads the parameters of such a file: the reason only.
func fileReason(r *wire.Request, limit int) (string, error) {
	var errs form.Errors
	reason := string(r.HTTP.QueryArgs().Peek("reason"))
	switch {
	case len(reason) > limit:
		errs.Add("reason", "too_long", "must have at most "+strconv.Itoa(limit)+" bytes")
	case !form.Printable(reason):
		errs.Add("reason", "invalid_format", "must be printable text in UTF-8")
	}
	for k := range r.HTTP.QueryArgs().All() {
		if string(k) != "reason" {
			errs.UnknownParameter(string(k))
		}
	}
	return reason, errs.Err()
}
