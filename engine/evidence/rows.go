package evidence

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/chain"
)

// Row is a row of the database with what proves it: its own key, under which the digest of its
// columns is the last that the chain has of it.
type Row struct {
	Part  byte   `json:"part"`
	Table string `json:"table"`
	ID    string `json:"id"`  // 32 hex digits
	Key   string `json:"key"` // 64 hex digits
	// Columns are typed as Manifest.Columns says: integers and truth values as such, uuid and bytea in
	// hex digits, times in UTC with six digits of the second, jsonb as it is. What the digest leaves
	// out (null, zeros, empty texts) is not there.
	Columns map[string]json.RawMessage `json:"columns"`
}

// microsecondsToY2K is the distance between the Unix epoch and that of the digests' times.
const (
	microsecondsToY2K = 946684800 * 1000000
	instantFormat     = "2006-01-02T15:04:05.000000Z"
)

// ColumnValue is a column in the form of a Row, from the bytes that its digest covers.
func ColumnValue(typ string, b []byte) (json.RawMessage, error) {
	var v any
	switch {
	case typ == "text":
		v = string(b)
	case typ == "boolean" && len(b) == 1:
		v = b[0] != 0
	case typ == "integer" && len(b) == 4:
		v = int32(binary.BigEndian.Uint32(b)) //nolint:gosec // two's complement
	case typ == "bigint" && len(b) == 8:
		v = int64(binary.BigEndian.Uint64(b)) //nolint:gosec // two's complement
	case typ == "double precision" && len(b) == 8:
		v = math.Float64frombits(binary.BigEndian.Uint64(b))
	case typ == "timestamptz" && len(b) == 8:
		at := int64(binary.BigEndian.Uint64(b)) + microsecondsToY2K //nolint:gosec // two's complement
		v = time.UnixMicro(at).UTC().Format(instantFormat)
	case typ == "uuid" || typ == "bytea":
		v = hex.EncodeToString(b)
	case typ == "jsonb":
		return b, nil
	default:
		return nil, fmt.Errorf("a column of type %s is not exported", typ)
	}
	return json.Marshal(v)
}

var errValue = errors.New("a column is not of its type")

// columnBytes are the bytes that the digest of a row covers for a column.
func columnBytes(typ string, value json.RawMessage) ([]byte, error) {
	var text string
	quoted := json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"'
	switch typ {
	case "text":
		if quoted {
			return []byte(text), nil
		}
	case "uuid", "bytea":
		if b, err := hex.DecodeString(text); quoted && err == nil {
			return b, nil
		}
	case "timestamptz":
		if t, err := time.Parse(instantFormat, text); quoted && err == nil {
			since := uint64(t.UnixMicro() - microsecondsToY2K) //nolint:gosec // two's complement
			return binary.BigEndian.AppendUint64(nil, since), nil
		}
	case "boolean":
		if v, err := strconv.ParseBool(string(value)); err == nil && v {
			return []byte{1}, nil
		}
	case "integer":
		if v, err := strconv.ParseInt(string(value), 10, 32); err == nil {
			return binary.BigEndian.AppendUint32(nil, uint32(v)), nil //nolint:gosec // two's complement
		}
	case "bigint":
		if v, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			return binary.BigEndian.AppendUint64(nil, uint64(v)), nil //nolint:gosec // two's complement
		}
	case "double precision":
		if v, err := strconv.ParseFloat(string(value), 64); err == nil {
			return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)), nil
		}
	case "jsonb":
		return chain.AppendCanonical(nil, value)
	}
	return nil, errValue
}

// digest is the digest of the row.
func (r *Row) digest(types map[string]string) (chain.Row, chain.Digest16, error) {
	id, err := hex.DecodeString(r.ID)
	key, err2 := hex.DecodeString(r.Key)
	row := chain.Row{Part: r.Part}
	if err = errors.Join(err, err2); err != nil || len(id) != len(row.ID) || len(key) != len(chain.RowKey{}) {
		return row, chain.Digest16{}, errValue
	}
	copy(row.ID[:], id)
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(r.Columns)) {
		value, err := columnBytes(types[name], r.Columns[name])
		if err != nil {
			return row, chain.Digest16{}, fmt.Errorf("%s: %w", name, err)
		}
		b = chain.AppendColumn(b, name, value)
	}
	k := chain.RowKey(key)
	return row, chain.RowDigest(&k, b), nil
}

// Rows begins the rows; types are the columns of each table. Without digests there are none.
func (w *Writer) Rows(digests bool, types map[string]map[string]string) {
	w.manifest.Digests, w.manifest.Columns = digests, types
}

// Row writes one row.
func (w *Writer) Row(r *Row) error {
	if err := w.open(RowsFile); err != nil {
		return err
	}
	return json.NewEncoder(w.out).Encode(r)
}

// standing is what batches say of a row.
type standing struct {
	order    uint64
	digests  []chain.Digest16 // of that order
	expected bool             // the row is one of this record's
	there    bool             // it came
}

// ofCampaign are the parts of which a record has all rows of the campaign, not those of the run alone:
// the campaign, its exclusions, its imports.
const ofCampaign = "\x07\x08\x12"

// standings are what the batches of the run, and of the campaign's chain 0, say of rows.
type standings map[chain.Row]*standing

func (s standings) take(entries []byte, ofRun bool) error {
	return chain.Entries(entries, func(e *chain.Entry) {
		x := s[e.Row]
		if x == nil {
			x = &standing{}
			s[e.Row] = x
		}
		x.expected = x.expected || ofRun || strings.IndexByte(ofCampaign, e.Part) >= 0
		switch {
		case x.digests == nil || e.Order > x.order:
			x.order, x.digests = e.Order, append(x.digests[:0:0], e.Digest)
		case e.Order == x.order && !slices.Contains(x.digests, e.Digest):
			x.digests = append(x.digests, e.Digest)
		}
	})
}

// campaignBatches checks the campaign's chain 0, whose batches have rows alone.
func (v *Verdict) campaignBatches(r io.Reader, s standings) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, lineCap)
	var c chain.Verifier
	for lines.Scan() {
		var b batchLine
		err := json.Unmarshal(lines.Bytes(), &b)
		hash, bad := chain.ParseHash(b.Hash)
		if err = errors.Join(err, bad); err != nil || b.Events != 0 || len(b.Rows) == 0 {
			return errors.New("a line is not a batch of rows")
		}
		if wrong := c.Batch(b.Batch, nil, b.Rows, hash); wrong != "" {
			v.wrong("batch %d of %s: %s", b.Batch, CampaignBatchesFile, wrong)
		}
		if err := s.take(b.Rows, false); err != nil {
			return err
		}
	}
	head := ""
	if c.N > 0 {
		head = c.Hash.String()
	}
	if c.N != v.Manifest.CampaignBatches || head != v.Manifest.CampaignHead {
		v.wrong("the campaign's chain ends with batch %d, the manifest says %d, or another hash", c.N,
			v.Manifest.CampaignBatches)
	}
	return lines.Err()
}

// rows checks each row with its last digest, and that none is missing.
func (v *Verdict) rows(r io.Reader, s standings, rules *Rules) (h sums, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 2*lineCap)
	for lines.Scan() {
		var row Row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return h, errors.New("a line is not a row")
		}
		name, digest, err := row.digest(v.Manifest.Columns[row.Table])
		if err != nil {
			v.wrong("%s: %s %s: %v", RowsFile, row.Table, row.ID, err)
			continue
		}
		switch x := s[name]; {
		case x == nil:
			v.wrong("%s: %s %s is in no batch: it was added", RowsFile, row.Table, row.ID)
		case x.there:
			v.wrong("%s: %s %s is there twice", RowsFile, row.Table, row.ID)
		case !slices.Contains(x.digests, digest):
			v.wrong("%s: %s %s is not as it was written", RowsFile, row.Table, row.ID)
		default:
			x.there = true
		}
		switch row.Table {
		case "attempts":
			h.row(&row)
		case "campaigns":
			v.settings(&row, rules)
		}
	}
	if lines.Err() != nil {
		return h, errors.New("it cannot be read, or has an overlong line")
	}
	for name, x := range s {
		if x.expected && !x.there && !slices.Contains(x.digests, chain.Digest16{}) {
			v.wrong("%s: a row that a batch names is missing: part %d, %x", RowsFile, name.Part, name.ID)
		}
	}
	return h, nil
}

// settings compares the rules with the campaign's row.
func (v *Verdict) settings(row *Row, rules *Rules) {
	var s campaign.Settings
	if json.Unmarshal(row.Columns["settings"], &s) != nil {
		v.wrong("%s: the campaign's settings cannot be read", RowsFile)
		return
	}
	a, err := json.Marshal(&s)
	b, err2 := json.Marshal(&rules.Settings)
	if err != nil || err2 != nil || !bytes.Equal(a, b) {
		v.wrong("%s has other settings than the campaign's row", RulesFile)
	}
}

// sums is a sum, in any order, over what attempts.csv and the rows of ended attempts both have.
type sums chain.Hash

// shared are those columns: of the row, and of the file.
var shared = []struct{ row, csv string }{{"contact_id", "contact_id"}, {"pass", "pass"},
	{"number", "attempt_number"}, {"to_number", "phone_number"}, {"from_number", "from_number"},
	{"trunk", "trunk"}, {"callback", "callback"},
	{"consumed", "consumed"}, {"reserved_at", "reserved_at"}, {"invite_at", "invite_at"}, {"trying_at", "trying_at"},
	{"ringing_at", "ringing_at"}, {"answered_at", "answered_at"}, {"verdict_at", "verdict_at"},
	{"served_at", "served_at"}, {"bot_connected_at", "bot_connected_at"},
	{"bot_first_audio_at", "bot_first_audio_at"}, {"ended_at", "ended_at"}, {"outcome", "outcome"}, {"cause", "cause"},
	{"verdict", "amd_verdict"}, {"sip_code", "sip_code"}, {"q850", "q850"}, {"hung_up_by", "hung_up_by"},
	{"bot_id", "bot_id"}, {"session_id", "session_id"}}

func (s *sums) add(id, name, value string) {
	d := chain.Digest([]byte(id + " " + name + " " + value))
	for i, b := range d {
		s[i] ^= b
	}
}

// row adds a part of an attempt: what it does not have is not told.
func (s *sums) row(r *Row) {
	for _, c := range shared {
		value, ok := r.Columns[c.row]
		if !ok {
			continue
		}
		text := string(value)
		_ = json.Unmarshal(value, &text) // a number or truth value stays as it is
		s.add(r.ID, c.row, told(text))
	}
}

// line adds a line of attempts.csv.
func (s *sums) line(row []string, columns map[string]int) {
	for _, c := range shared {
		if v := told(row[columns[c.csv]]); v != "" && v != "0" && v != "false" {
			s.add(row[columns["attempt_id"]], c.row, v)
		}
	}
}

// told is a value in the form of both: times to the microsecond, texts without the apostrophe of
// spreadsheets.
func told(v string) string {
	if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
		return t.UTC().Format(instantFormat)
	}
	if rest, ok := strings.CutPrefix(v, "'"); ok && engine.SpreadsheetText(rest) == v {
		return rest
	}
	return v
}
