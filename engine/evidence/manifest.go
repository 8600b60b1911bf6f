package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
)

// Format identifies the format of the file; a manifest begins with it.
const Format = "dialler.evidence.4"

// Formats that are still read: without receipts of witnesses; also without rows; and the first also
// without the last of AttemptColumns.
const (
	formatFirst  = "dialler.evidence.1"
	formatSecond = "dialler.evidence.2"
	formatThird  = "dialler.evidence.3"
)

// The files of the zip.
const (
	ManifestFile     = "manifest.json"
	SignatureFile    = "manifest.sig" // 64 bytes
	PublicKeyFile    = "public_key.pem"
	RulesFile        = "rules.json"
	AttemptsFile     = "attempts.csv"
	ExclusionsFile   = "exclusions.csv"
	SuppressionsFile = "suppressions.csv"
	EventsFile       = "events.jsonl"
	BatchesFile      = "batches.jsonl"
	// CampaignBatchesFile has the batches of the campaign's chain 0: of rows that are of no run.
	CampaignBatchesFile = "campaign_batches.jsonl"
	RowsFile            = "rows.jsonl"
	// AnchorsFile has the receipts of witnesses, and what leads to them from the run's chain.
	AnchorsFile = "anchors.jsonl"
	// RateFile derives the abandon rate, event by event.
	RateFile    = "abandon_rate.csv"
	ReadmeFile  = "README.txt"
	SummaryFile = "summary.html"
)

// partFiles are the files named in the manifest, in order.
var partFiles = []string{RulesFile, AttemptsFile, ExclusionsFile, SuppressionsFile, EventsFile, BatchesFile,
	CampaignBatchesFile, RowsFile, AnchorsFile, RateFile, ReadmeFile, SummaryFile}

// parts are the files that the manifest must name; none in an unknown format.
func (m *Manifest) parts() []string {
	switch m.Format {
	case Format:
		return partFiles
	case formatThird:
		return slices.Concat(partFiles[:8], partFiles[10:])
	case formatFirst, formatSecond:
		return partFiles[:6]
	}
	return nil
}

// Manifest is the signed content.
type Manifest struct {
	Format   string            `json:"format"`
	Campaign engine.CampaignID `json:"campaign_id"`
	Name     string            `json:"campaign_name"`
	Run      int               `json:"run"`
	State    string            `json:"campaign_state"` // when the file was made
	MadeAt   time.Time         `json:"made_at"`
	MadeBy   string            `json:"made_by"`
	Program  string            `json:"program"`
	Zone     string            `json:"time_zone"` // of the days below
	// Unchained events are older than the chain: only the signature vouches for them.
	Unchained int    `json:"unchained_events"`
	Batches   int64  `json:"batches"`
	Head      string `json:"head"` // hash of the last batch, "" if there is none
	Summary
	// Caps are the abandon caps of the run: the one that it began with, and each that was set later.
	Caps            []Cap  `json:"abandon_caps,omitempty"`
	CampaignBatches int64  `json:"campaign_batches"`
	CampaignHead    string `json:"campaign_head"` // likewise, of the campaign's chain of no run
	// Digests says that rows are in the file with what proves them; Columns are the types of their
	// columns, by table.
	Digests bool                         `json:"digests"`
	Columns map[string]map[string]string `json:"columns,omitempty"`
	// Since is when the installation's record began, by its genesis: nothing vouches for how came to be
	// what was there before. OlderRows are rows of the campaign without a digest. nil and 0 where there
	// is no genesis.
	Since     *time.Time `json:"evidence_since,omitempty"`
	OlderRows int        `json:"older_rows"`
	// Anchors are the witnesses that were shown seals of the run, none before format 4.
	Anchors []Anchored `json:"anchors,omitempty"`
	// Findings are what the audit of the run found when the file was made: where tables and history
	// differ, the figures above prove nothing.
	Findings []string `json:"findings"`
	Parts    []Part   `json:"parts"`
}

// Part is one file.
type Part struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// PartOf says what the manifest says of a file.
func PartOf(file string, content []byte) Part {
	sum := sha256.Sum256(content)
	return Part{file, int64(len(content)), hex.EncodeToString(sum[:])}
}

// Summary are the figures of a run, computed only from its attempts.
type Summary struct {
	Attempts    int            `json:"attempts"`     // all that were begun
	Consumed    int            `json:"consumed"`     // those whose INVITE left and that count
	Answered    int            `json:"answered"`     // by anybody or anything
	Served      int            `json:"served"`       // by a bot in time
	Abandoned   int            `json:"abandoned"`    // answered by a person and not served in time
	Causes      map[string]int `json:"causes"`       // of the abandoned
	LiveAnswers int            `json:"live_answers"` // served and abandoned
	// RatePPM is abandoned calls as a share of live answers, 1,000,000 is all; CapPPM is the
	// campaign's cap at the end of the run, before format 4 the one when the file was made.
	RatePPM int   `json:"abandon_rate_ppm"`
	CapPPM  int   `json:"abandon_cap_ppm"`
	Days    []Day `json:"days"` // calendar days in the campaign's zone that had a live answer
}

// Day is one calendar day.
type Day struct {
	Day         string `json:"day"` // 2006-01-02
	LiveAnswers int    `json:"live_answers"`
	Abandoned   int    `json:"abandoned"`
	RatePPM     int    `json:"abandon_rate_ppm"`
}

func rate(abandoned, live int) int {
	if live == 0 {
		return 0
	}
	return int(int64(abandoned) * 1_000_000 / int64(live))
}

// summer computes the summary from rows of attempts.csv, one at a time.
type summer struct {
	Summary
	zone *time.Location
	days map[string]*Day
}

func newSummer(zone *time.Location) *summer {
	return &summer{Summary: Summary{Causes: map[string]int{}}, zone: zone, days: map[string]*Day{}}
}

// add counts a row; columns maps column names to indexes.
func (s *summer) add(row []string, columns map[string]int) {
	get := func(name string) string { return row[columns[name]] }
	s.Attempts++
	if consumed, _ := strconv.ParseBool(get("consumed")); consumed {
		s.Consumed++
	}
	if get("answered_at") != "" {
		s.Answered++
	}
	at, served := get("served_at"), get("served_at") != ""
	abandoned := get("outcome") == string(engine.OutcomeAbandoned)
	switch {
	case abandoned:
		s.Abandoned++
		s.Causes[get("cause")]++
		at = get("abandoned_at")
	case served:
		s.Served++
	default:
		return
	}
	s.LiveAnswers++
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return
	}
	name := t.In(s.zone).Format(time.DateOnly)
	d := s.days[name]
	if d == nil {
		d = &Day{Day: name}
		s.days[name] = d
	}
	d.LiveAnswers++
	if abandoned {
		d.Abandoned++
	}
}

func (s *summer) summary(capPPM int) Summary {
	s.RatePPM, s.CapPPM = rate(s.Abandoned, s.LiveAnswers), capPPM
	s.Days = []Day{}
	for _, d := range s.days {
		d.RatePPM = rate(d.Abandoned, d.LiveAnswers)
		s.Days = append(s.Days, *d)
	}
	slices.SortFunc(s.Days, func(a, b Day) int {
		if a.Day < b.Day {
			return -1
		}
		return 1
	})
	return s.Summary
}
