package lists

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dialler/engine"
)

// rung is a message in its stored form: a JSON array, a third of the size of an object with names.
type rung engine.SIPMessage

var errRung = errors.New("a stored SIP message is not in the form that this version writes")

// MarshalJSON implements json.Marshaler.
func (r rung) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]any{r.At.UnixMicro(), r.Sent, r.Method, r.Code, r.Reason, r.CSeq, r.Peer, r.Note,
		r.Repeats})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *rung) UnmarshalJSON(b []byte) error {
	var at int64
	fields := []any{&at, &r.Sent, &r.Method, &r.Code, &r.Reason, &r.CSeq, &r.Peer, &r.Note, &r.Repeats}
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if len(raw) < len(fields) {
		return errRung
	}
	for i, f := range fields {
		if err := json.Unmarshal(raw[i], f); err != nil {
			return fmt.Errorf("%w: %w", errRung, err)
		}
	}
	r.At = time.UnixMicro(at).UTC()
	return nil
}

// SaveLadders stores the SIP messages of the legs of failed calls. A leg that is stored already is
// left unchanged.
func (s *Lists) SaveLadders(ctx context.Context, ladders []engine.Ladder) error {
	attempts, legs := make([]string, len(ladders)), make([]string, len(ladders))
	at, messages := make([]time.Time, len(ladders)), make([]string, len(ladders))
	for i, l := range ladders {
		rungs := make([]rung, len(l.Messages))
		for j, m := range l.Messages {
			rungs[j] = rung(m)
		}
		b, err := json.Marshal(rungs)
		if err != nil {
			return fmt.Errorf("ladder not encoded: %w", err)
		}
		attempts[i], legs[i], at[i], messages[i] = string(l.Attempt), string(l.Leg), l.At, string(b)
	}
	_, err := s.db.Read.Exec(ctx, `INSERT INTO sip_ladders (attempt_id, leg, at, messages)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::jsonb[]) ON CONFLICT DO NOTHING`, attempts,
		legs, at, messages)
	return s.db.Wrap("SIP ladders not stored", err)
}

// Ladder returns the stored messages of an attempt's legs in the order of their times; none if
// nothing is stored.
func (s *Lists) Ladder(ctx context.Context, id engine.AttemptID) ([]engine.SIPMessage, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT leg, messages FROM sip_ladders WHERE attempt_id = $1 ORDER BY at, leg",
		string(id))
	defer rows.Close()
	var out []engine.SIPMessage
	for rows.Next() {
		var leg string
		var rungs []rung
		if err := rows.Scan(&leg, &rungs); err != nil {
			return nil, s.db.Wrap("SIP ladder not read", err)
		}
		for _, r := range rungs {
			r.Leg = engine.LegID(leg)
			out = append(out, engine.SIPMessage(r))
		}
	}
	return out, s.db.Wrap("SIP ladder not read", rows.Err())
}
