package evidence

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/engine/seal"
	"dialler/engine/spine"
)

// AttemptColumns are the columns of attempts.csv: every attempt, including those without an INVITE.
// Times are RFC 3339 in UTC. From abandoned_at to ended_at the callee of an abandoned call hears
// the information message.
var AttemptColumns = []string{"attempt_id", "contact_id", "pass", "attempt_number", "phone_number", "from_number",
	"trunk", "callback", "consumed", "reserved_at", "invite_at", "trying_at", "ringing_at", "answered_at", "verdict_at",
	"served_at", "bot_connected_at", "bot_first_audio_at", "abandoned_at", "ended_at",
	"outcome", "cause", "amd_verdict", "sip_code", "sip_reason", "q850", "hung_up_by", "opted_out", "bot_id", "session_id",
	"disposition", "recorded", "recording_sha256"}

var (
	exclusionColumns   = []string{"phone_number", "match", "reason", "lifted", "created_at"}
	suppressionColumns = []string{"phone_number", "reason", "created_at"}
)

// Rules are the rules in force: the settings when the file was made, and every event of the
// campaign that set or changed them, or began and ended runs, with who did it.
type Rules struct {
	Settings campaign.Settings `json:"settings"`
	Changes  []RuleChange      `json:"changes"`
}

// RuleChange is one event about the campaign's settings or runs.
type RuleChange struct {
	Seq      int64              `json:"seq"`
	Run      int                `json:"run"`
	At       time.Time          `json:"at"`
	Type     journal.Type       `json:"type"`
	Who      *engine.Who        `json:"who,omitempty"`
	Reason   string             `json:"reason,omitempty"`
	Settings *campaign.Settings `json:"settings,omitempty"`
	Changes  []campaign.Change  `json:"changes,omitempty"`
}

// Writer writes a file part by part, in the order of its methods: Begin, every Attempt, Exclusion,
// Suppression, Event and Batch, End. It only retains a summary.
type Writer struct {
	zip      *zip.Writer
	key      seal.Signer
	manifest Manifest
	sum      *summer
	trail    trail
	columns  map[string]int
	cap      int    // at the end of the run
	step     Step   // the last one
	steps    []Step // for the page

	part int // index in partFiles of the open one
	out  io.Writer
	csv  *csv.Writer
	hash hash.Hash
	size int64
	row  []string
}

// NewWriter begins a file. From the manifest it takes the origin: MadeAt, MadeBy, Program, and the
// run.
func NewWriter(out io.Writer, origin Manifest, key seal.Signer) *Writer {
	origin.Format, origin.Findings = Format, []string{}
	return &Writer{zip: zip.NewWriter(out), key: key, manifest: origin, part: -1, columns: columnsOf(AttemptColumns)}
}

func columnsOf(names []string) map[string]int {
	m := make(map[string]int, len(names))
	for i, n := range names {
		m[n] = i
	}
	return m
}

// Begin writes the campaign and its rules. changes are its events with an author, in order.
func (w *Writer) Begin(c *campaign.Campaign, changes []journal.Event) error {
	m := &w.manifest
	m.Campaign, m.Name, m.State = c.ID, c.Settings.Name, string(c.State)
	w.trail.of = spine.Chain{Campaign: c.ID, Run: m.Run}
	m.Zone = c.Settings.Window.Zone
	zone, err := time.LoadLocation(m.Zone)
	if err != nil {
		m.Zone, zone = "UTC", time.UTC
	}
	w.sum = newSummer(zone)
	r := Rules{Settings: c.Settings, Changes: []RuleChange{}}
	for i := range changes {
		e := &changes[i]
		r.Changes = append(r.Changes, RuleChange{Seq: e.Seq, Run: e.Run, At: e.At.UTC(), Type: e.Type, Who: e.Data.Who,
			Reason:   e.Data.Reason,
			Settings: e.Data.Settings, Changes: e.Data.Changes})
	}
	w.cap, m.Caps = capsOf(&r, m.Run)
	if err := w.open(RulesFile); err != nil {
		return err
	}
	enc := json.NewEncoder(w.out)
	enc.SetIndent("", "  ")
	return enc.Encode(&r)
}

// open ends the previous parts and begins the named one.
func (w *Writer) open(file string) error {
	for w.part < 0 || partFiles[w.part] != file {
		if err := w.end(); err != nil {
			return err
		}
		w.part++
		f, err := w.create(partFiles[w.part])
		if err != nil {
			return err
		}
		w.hash, w.size = sha256.New(), 0
		w.out = io.MultiWriter(f, w.hash, counter{&w.size})
		w.csv = nil
		header := map[string][]string{AttemptsFile: AttemptColumns, ExclusionsFile: exclusionColumns,
			SuppressionsFile: suppressionColumns, RateFile: rateColumns}[partFiles[w.part]]
		if header != nil {
			w.csv = csv.NewWriter(w.out)
			if err := w.csv.Write(header); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) create(file string) (io.Writer, error) {
	return w.zip.CreateHeader(&zip.FileHeader{Name: file, Method: zip.Deflate, Modified: w.manifest.MadeAt.UTC()})
}

func (w *Writer) end() error {
	if w.part < 0 {
		return nil
	}
	if w.csv != nil {
		w.csv.Flush()
		if err := w.csv.Error(); err != nil {
			return err
		}
	}
	w.manifest.Parts = append(w.manifest.Parts, Part{partFiles[w.part], w.size, hex.EncodeToString(w.hash.Sum(nil))})
	return nil
}

type counter struct{ n *int64 }

func (c counter) Write(b []byte) (int, error) {
	*c.n += int64(len(b))
	return len(b), nil
}

// Attempt writes one attempt of the run; attempts come in the order of their reservation. recording
// is the SHA-256 of its recording's file, nil when there is none.
func (w *Writer) Attempt(a *attempt.Attempt, recording []byte) error {
	if err := w.open(AttemptsFile); err != nil {
		return err
	}
	abandoned, opted, disposition, recorded := "", false, "", false
	if a.Outcome == engine.OutcomeAbandoned {
		abandoned = moment(a.EndedAt)
		if a.Ending != nil {
			abandoned = moment(&a.Ending.At)
		}
	}
	if a.Ending != nil {
		opted = a.Ending.OptedOut
	}
	if a.Result != nil {
		disposition = a.Result.Disposition
	}
	if a.Quality != nil {
		recorded = a.Quality.Recording != nil
	}
	w.row = append(w.row[:0], string(a.ID), string(a.Contact), strconv.Itoa(a.Pass), strconv.Itoa(a.Number), a.To.E164(),
		a.From.E164(), engine.SpreadsheetText(string(a.Trunk)), strconv.FormatBool(a.Callback),
		strconv.FormatBool(a.Consumed), moment(a.ReservedAt), moment(a.InviteAt), moment(a.TryingAt), moment(a.RingingAt),
		moment(a.AnsweredAt), moment(a.VerdictAt), moment(a.ServedAt),
		moment(a.BotConnectedAt), moment(a.BotFirstAudioAt), abandoned, moment(a.EndedAt),
		string(a.Outcome), string(a.Cause), string(a.Verdict), strconv.Itoa(a.SIPCode), engine.SpreadsheetText(a.SIPReason),
		strconv.Itoa(a.Q850), string(a.HungUpBy), strconv.FormatBool(opted), engine.SpreadsheetText(string(a.Bot)),
		string(a.Session), engine.SpreadsheetText(disposition), strconv.FormatBool(recorded),
		hex.EncodeToString(recording))
	w.sum.add(w.row, w.columns)
	return w.csv.Write(w.row)
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Exclusion writes one exclusion of the campaign.
func (w *Writer) Exclusion(x journal.Exclusion) error {
	if err := w.open(ExclusionsFile); err != nil {
		return err
	}
	match := ""
	if len(x.Match) > 0 {
		b, err := json.Marshal(x.Match)
		if err != nil {
			return err
		}
		match = string(b)
	}
	return w.csv.Write([]string{x.Number.E164(), match, engine.SpreadsheetText(x.Reason), strconv.FormatBool(x.Lifted),
		moment(&x.CreatedAt)})
}

// Suppression writes a number of the campaign that is on the suppression list.
func (w *Writer) Suppression(x journal.Suppression) error {
	if err := w.open(SuppressionsFile); err != nil {
		return err
	}
	return w.csv.Write([]string{x.Number.E164(), engine.SpreadsheetText(x.Reason), moment(&x.CreatedAt)})
}

// Event writes the text of an event of the run (chain.Record): first those that
// are older than the chain, then batch by batch.
func (w *Writer) Event(text []byte, chained bool) error {
	if err := w.open(EventsFile); err != nil {
		return err
	}
	if !chained {
		w.manifest.Unchained++
	}
	if _, err := w.out.Write(text); err != nil {
		return err
	}
	_, err := w.out.Write([]byte{'\n'})
	return err
}

// batchLine is a line of batches.jsonl.
type batchLine struct {
	Batch  int64  `json:"batch"`
	Events int    `json:"events"` // number of lines of events.jsonl
	Hash   string `json:"hash"`
	// Rows are the entries of the rows that the batch's transaction wrote, Code is the batch's own.
	Rows []byte `json:"rows,omitempty"`
	Code []byte `json:"code,omitempty"`
}

// CampaignBatch writes a batch of the campaign's chain 0, in order.
func (w *Writer) CampaignBatch(n int64, hash chain.Hash, rows, code []byte) error {
	if err := w.open(CampaignBatchesFile); err != nil {
		return err
	}
	w.manifest.CampaignBatches, w.manifest.CampaignHead = n, hash.String()
	return json.NewEncoder(w.out).Encode(batchLine{Batch: n, Hash: hash.String(), Rows: rows, Code: code})
}

// Batch writes a batch of the chain, in order.
func (w *Writer) Batch(n int64, events int, hash chain.Hash, rows, code []byte) error {
	if err := w.open(BatchesFile); err != nil {
		return err
	}
	w.manifest.Batches, w.manifest.Head = n, hash.String()
	return json.NewEncoder(w.out).Encode(batchLine{n, events, hash.String(), rows, code})
}

// Began notes when the installation's record began, nil if it has not, and how many rows are older than
// digests.
func (w *Writer) Began(at *time.Time, older int) { w.manifest.Since, w.manifest.OlderRows = at, older }

// Finding notes in the manifest what the audit of the run found.
func (w *Writer) Finding(what string) { w.manifest.Findings = append(w.manifest.Findings, what) }

// End writes manifest, signature and public key, and returns the manifest.
func (w *Writer) End() (Manifest, error) {
	w.manifest.Summary, w.manifest.Anchors = w.sum.summary(w.cap), w.trail.witnesses
	for _, x := range []struct {
		file string
		text string
	}{{ReadmeFile, readme}, {SummaryFile, w.page()}} {
		if err := w.open(x.file); err != nil {
			return Manifest{}, err
		}
		if _, err := io.WriteString(w.out, x.text); err != nil {
			return Manifest{}, err
		}
	}
	if err := w.end(); err != nil {
		return Manifest{}, err
	}
	text, err := json.MarshalIndent(&w.manifest, "", "  ")
	if err != nil {
		return Manifest{}, err
	}
	signature, err := w.key.Sign(text)
	if err != nil {
		return Manifest{}, err
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{ManifestFile, text}, {SignatureFile, signature}, {PublicKeyFile, w.key.Public().PEM()}} {
		out, err := w.create(f.name)
		if err == nil {
			_, err = out.Write(f.content)
		}
		if err != nil {
			return Manifest{}, err
		}
	}
	return w.manifest, w.zip.Close()
}
