package evidence

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"reflect"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/engine/seal"
)

// Limits of what a file may require.
const (
	manifestCap = 16 << 20
	lineCap     = 4 << 20
)

// Verdict is the result for a file that can be read.
type Verdict struct {
	Manifest Manifest `json:"manifest"`
	// Key is the fingerprint of the key that signed it.
	Key string `json:"key"`
	// Wrong are sentences about each problem; the file is sound if there are none.
	Wrong []string `json:"wrong"`

	standings standings        // what the batches say of rows
	listed    sums             // what attempts.csv says of ended attempts
	counted   answers          // of the events
	set       map[int64]int    // caps, by the events of the run that set them
	sealed    map[int64]string // hashes of batches, as witnesses were shown them
}

func (v *Verdict) wrong(format string, args ...any) {
	const most = 50
	if len(v.Wrong) < most {
		v.Wrong = append(v.Wrong, fmt.Sprintf(format, args...))
	}
}

var errNoEvidence = engine.Invalid("evidence_unreadable", "")

// Verify checks a file: that it is complete, that the manifest is signed, by the trusted key if one
// is given, that each part matches the manifest, that the chain of events holds, that attempts and
// events agree, and that the figures of the manifest are those of the attempts. An error means that
// it cannot be read as such a file at all.
func Verify(file io.ReaderAt, size int64, trusted *seal.Public) (v Verdict, err error) {
	v.Wrong, v.standings, v.sealed, v.set = []string{}, standings{}, map[int64]string{}, map[int64]int{}
	z, err := zip.NewReader(file, size)
	if err != nil {
		return v, errNoEvidence
	}
	files := map[string]*zip.File{}
	for _, f := range z.File {
		if files[f.Name] != nil || !slices.Contains(partFiles, f.Name) && f.Name != ManifestFile && f.Name != SignatureFile &&
			f.Name != PublicKeyFile {
			v.wrong("%q does not belong in the file, or is there twice", f.Name)
		}
		files[f.Name] = f
	}
	var small [3][]byte
	for i, name := range []string{ManifestFile, SignatureFile, PublicKeyFile} {
		if small[i], err = readAll(files[name]); err != nil {
			return v, errNoEvidence
		}
	}
	manifest, signature := small[0], small[1]
	if json.Unmarshal(manifest, &v.Manifest) != nil || v.Manifest.parts() == nil {
		return v, errNoEvidence
	}
	public, err := seal.ParsePublic(small[2])
	switch {
	case err != nil:
		v.wrong("%s: %v", PublicKeyFile, err)
	case !bytes.Equal(public.PEM(), small[2]):
		v.wrong("%s is not as it was written", PublicKeyFile)
	}
	if trusted != nil {
		if trusted.Fingerprint() != public.Fingerprint() {
			v.wrong("the file is signed with another key (%s) than the trusted one (%s)", public.Fingerprint(),
				trusted.Fingerprint())
		}
		public = *trusted
	}
	v.Key = public.Fingerprint()
	if !public.Verify(manifest, signature) {
		v.wrong("the signature does not match the manifest")
	}
	for _, f := range v.Manifest.Findings {
		v.wrong("when the file was made, the tables did not say what the history says: %s", f)
	}
	v.parts(files)
	return v, nil
}

func readAll(f *zip.File) ([]byte, error) {
	if f == nil {
		return nil, errNoEvidence
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(io.LimitReader(r, manifestCap+1))
	if err == nil && len(b) > manifestCap {
		err = errNoEvidence
	}
	return b, err
}

// parts checks the parts and their consistency.
func (v *Verdict) parts(files map[string]*zip.File) {
	m := &v.Manifest
	if len(m.Parts) != len(m.parts()) {
		v.wrong("the manifest names %d parts, not %d", len(m.Parts), len(m.parts()))
		return
	}
	for i, p := range m.Parts {
		if p.File != m.parts()[i] || files[p.File] == nil {
			v.wrong("part %s is missing", m.parts()[i])
			return
		}
	}
	var listed, told facts
	var rules Rules
	v.part(files, RulesFile, func(r io.Reader) error {
		return json.NewDecoder(io.LimitReader(r, 4*manifestCap)).Decode(&rules)
	})
	v.part(files, AttemptsFile, func(r io.Reader) (err error) {
		listed, err = v.attempts(r)
		return err
	})
	v.part(files, ExclusionsFile, nil)
	v.part(files, SuppressionsFile, nil)
	var counted answers
	if m.Format == Format {
		v.part(files, AnchorsFile, v.anchors)
		v.part(files, RateFile, func(r io.Reader) (err error) {
			counted, err = v.rates(r)
			return err
		})
		if ppm, caps := capsOf(&rules, m.Run); ppm != m.CapPPM || !slices.EqualFunc(caps, m.Caps, Cap.equal) {
			v.wrong("the manifest's abandon caps are not those of %s", RulesFile)
		}
	}
	// Events and batches are read in parallel.
	batches, err := files[BatchesFile].Open()
	if err != nil {
		v.wrong("%s cannot be read", BatchesFile)
		return
	}
	defer func() { _ = batches.Close() }()
	v.part(files, BatchesFile, nil)
	v.part(files, EventsFile, func(r io.Reader) (err error) {
		told, err = v.events(r, batches)
		return err
	})
	if m.Format == Format && counted != v.counted {
		v.wrong("%s has other answers than %s", RateFile, EventsFile)
	}
	if m.Format == Format {
		v.caps(&rules)
	}
	if slices.Contains(m.parts(), RowsFile) {
		v.allRows(files, &rules)
	}
	if listed != told {
		v.wrong("%s has %d attempts, of which %d ended and %d were abandoned; %s gives %d, %d and %d, or different ones",
			AttemptsFile, listed.begun, listed.ended, listed.abandoned, EventsFile, told.begun, told.ended, told.abandoned)
	}
}

// allRows checks the rows, and attempts.csv with them.
func (v *Verdict) allRows(files map[string]*zip.File, rules *Rules) {
	if !v.Manifest.Digests {
		v.part(files, CampaignBatchesFile, nil)
		v.part(files, RowsFile, nil)
	} else {
		var rows sums
		v.part(files, CampaignBatchesFile, func(r io.Reader) error { return v.campaignBatches(r, v.standings) })
		v.part(files, RowsFile, func(r io.Reader) (err error) {
			rows, err = v.rows(r, v.standings, rules)
			return err
		})
		if rows != v.listed {
			v.wrong("%s does not say what the attempts of %s say", AttemptsFile, RowsFile)
		}
	}
	v.part(files, ReadmeFile, nil)
	v.part(files, SummaryFile, nil)
}

// part reads one part through its hash.
func (v *Verdict) part(files map[string]*zip.File, name string, read func(io.Reader) error) {
	p := v.Manifest.Parts[slices.Index(v.Manifest.parts(), name)]
	f, err := files[name].Open()
	if err != nil {
		v.wrong("%s cannot be read", name)
		return
	}
	defer func() { _ = f.Close() }()
	sum, size := sha256.New(), int64(0)
	r := io.TeeReader(f, io.MultiWriter(sum, counter{&size}))
	if read != nil {
		if err := read(r); err != nil {
			v.wrong("%s: %v", name, err)
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		v.wrong("%s cannot be read to its end", name)
	}
	if size != p.Bytes || hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		v.wrong("%s is not the part that the manifest names: its SHA-256 or length differs", name)
	}
}

// rows refuses CSV rows longer than any of ours: a few compressed bytes can expand to more than the
// memory.
type rows struct {
	r      io.Reader
	quoted bool
	length int // of the present row, bytes
}

var errRow = errors.New("it has an overlong row")

// Read implements io.Reader.
func (l *rows) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for _, c := range p[:n] {
		l.length++
		switch c {
		case '"':
			l.quoted = !l.quoted
		case '\n':
			if !l.quoted {
				l.length = 0
			}
		}
		if l.length > lineCap {
			return 0, errRow
		}
	}
	return n, err
}

// facts are what attempts.csv and events.jsonl both contain: counts, and an order-independent sum
// of the digests of each ended attempt.
type facts struct {
	begun, ended, abandoned int
	sum                     chain.Hash
}

func (f *facts) end(h hash.Hash, id, outcome, cause string, consumed bool) {
	f.ended++
	abandoned := outcome == string(engine.OutcomeAbandoned)
	if abandoned {
		f.abandoned++
	}
	h.Reset()
	_, _ = fmt.Fprintf(h, "%s %t %s %t", id, abandoned, cause, consumed)
	for i, b := range h.Sum(nil) {
		f.sum[i] ^= b
	}
}

// attempts recomputes the figures of the manifest.
func (v *Verdict) attempts(r io.Reader) (f facts, err error) {
	table := csv.NewReader(&rows{r: r})
	header, err := table.Read()
	want := AttemptColumns
	if v.Manifest.Format == formatFirst {
		want = want[:len(want)-1]
	}
	if err != nil || !slices.Equal(header, want) {
		return f, errors.New("its columns are not those of this format")
	}
	table.ReuseRecord = true
	zone, err := time.LoadLocation(v.Manifest.Zone)
	if err != nil {
		return f, errors.New("the manifest's time zone is unknown")
	}
	s, columns, h := newSummer(zone), columnsOf(AttemptColumns), sha256.New()
	for {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errRow) {
			return f, errRow
		}
		if err != nil {
			return f, errors.New("it is not a CSV file with its columns")
		}
		s.add(row, columns)
		f.begun++
		if row[columns["ended_at"]] != "" {
			consumed, _ := strconv.ParseBool(row[columns["consumed"]])
			v.listed.line(row, columns)
			f.end(h, row[columns["attempt_id"]], row[columns["outcome"]], row[columns["cause"]], consumed)
		}
	}
	if sum := s.summary(v.Manifest.CapPPM); !reflect.DeepEqual(sum, v.Manifest.Summary) {
		v.wrong("the manifest's figures do not match %s", AttemptsFile)
	}
	return f, nil
}

// eventLine is the part of a line of events.jsonl that is read.
type eventLine struct {
	Campaign engine.CampaignID `json:"campaign_id"`
	Run      int               `json:"run"`
	Seq      int64             `json:"seq"`
	Type     journal.Type      `json:"type"`
	Attempt  string            `json:"attempt_id"`
	Data     struct {
		Outcome   engine.Outcome `json:"outcome"`
		Cause     string         `json:"cause"`
		Consumed  bool           `json:"consumed"`
		Connected bool           `json:"connected"`
		// What may set the cap.
		Settings *campaign.Settings `json:"settings"`
		Changes  []campaign.Change  `json:"changes"`
	} `json:"data"`
}

// events checks the chain.
func (v *Verdict) events(r, batches io.Reader) (f facts, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), lineCap)
	h := sha256.New()
	last := int64(0)
	next := func() ([]byte, error) {
		if !lines.Scan() {
			return nil, errors.New("it ends before its last batch, or has an overlong line")
		}
		text := lines.Bytes()
		var e eventLine
		if json.Unmarshal(text, &e) != nil {
			return nil, errors.New("a line is not JSON")
		}
		if same, err := chain.AppendCanonical(nil, text); err != nil || !bytes.Equal(same, text) {
			v.wrong("%s: event %d is not in canonical form", EventsFile, e.Seq)
		}
		if e.Campaign != v.Manifest.Campaign || e.Run != v.Manifest.Run || e.Seq <= last {
			v.wrong("%s: event %d is of another run, or not in order", EventsFile, e.Seq)
		}
		last = e.Seq
		if live, abandoned := counts(e.Type, e.Data.Outcome, e.Data.Connected); live != 0 {
			cause := e.Data.Cause
			if abandoned == 0 {
				cause = ""
			}
			v.counted.add(live, abandoned, e.Seq, string(e.Type), e.Attempt, cause)
		}
		if ppm, ok := capOf(&RuleChange{Settings: e.Data.Settings, Changes: e.Data.Changes}); ok {
			v.set[e.Seq] = ppm
		}
		switch e.Type { //nolint:exhaustive // what attempts.csv tells too
		case journal.AttemptReserved:
			f.begun++
		case journal.AttemptEnded:
			f.end(h, e.Attempt, string(e.Data.Outcome), e.Data.Cause, e.Data.Consumed)
		}
		return text, nil
	}
	for range v.Manifest.Unchained {
		if _, err := next(); err != nil {
			return f, err
		}
	}
	var c chain.Verifier
	hashes := bufio.NewScanner(batches)
	hashes.Buffer(nil, lineCap)
	var digests []byte
	for hashes.Scan() {
		var b batchLine
		err := json.Unmarshal(hashes.Bytes(), &b)
		raw, bad := hex.DecodeString(b.Hash)
		var hash chain.Hash
		if err != nil || bad != nil || len(raw) != len(hash) ||
			b.Events < 0 || b.Events+len(b.Rows) < 1 {
			return f, errors.New("a line of " + BatchesFile + " is not a batch")
		}
		copy(hash[:], raw)
		digests, last = digests[:0], 0 // batches are in commit order, their events in the order of the run
		for range b.Events {
			text, err := next()
			if err != nil {
				return f, err
			}
			d := chain.Digest(text)
			digests = append(digests, d[:]...)
		}
		if wrong := c.Batch(b.Batch, digests, b.Rows, hash); wrong != "" {
			v.wrong("batch %d of the chain (to event %d): %s", b.Batch, last, wrong)
		}
		if want, ok := v.sealed[b.Batch]; ok && want != b.Hash {
			v.wrong("batch %d of the chain is not the one that witnesses were shown", b.Batch)
		}
		delete(v.sealed, b.Batch)
		if err := v.standings.take(b.Rows, true); err != nil {
			return f, err
		}
	}
	for n := range v.sealed {
		v.wrong("the chain does not have batch %d, which witnesses were shown", n)
	}
	if hashes.Err() != nil {
		return f, errors.New(BatchesFile + " cannot be read, or has an overlong line")
	}
	head := ""
	if c.N > 0 {
		head = c.Hash.String()
	}
	if c.N != v.Manifest.Batches || head != v.Manifest.Head {
		v.wrong("the chain ends with batch %d, the manifest says %d, or another hash", c.N, v.Manifest.Batches)
	}
	if lines.Scan() {
		return f, errors.New("it continues after its last batch")
	}
	return f, lines.Err()
}
