package greetings

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"dialler/bench/voice"
	"dialler/media/wav"
)

// shares are the shares of the kinds: those that are hard to distinguish are drawn more often than
// a dialler meets them, and weighted less in return.
var shares = []struct {
	kind, label   string
	parts, weight float64
}{
	{"short", "human", 14, 3.3}, {"again", "human", 4, 1.5}, {"firm", "human", 12, 1.8}, {"long", "human", 10,
		0.8}, {"talk", "human", 9, 1.1},
	{"brief", "machine", 17, 1.6}, {"box", "machine", 20, 2.5}, {"carrier", "machine", 10, 2.2},
	{"screen", "screener", 4, 1},
}

// Config of Write.
type Config struct {
	Dir   string
	Seed  uint64
	Count int // recordings
	// Kinds limits the kinds drawn; their proportions stay the same. If empty, all of them are
	// drawn, and callees of the model carrier are added.
	Kinds []string
	// Engines are the synthesisers: espeak, flite, fest, pico; if empty, the first three, and
	// callees of the model carrier.
	Engines []string
	// Unseen uses other phrases spoken by other voices, which must not be used for training.
	Unseen bool
}

// modelCount is how many callees of the model carrier are added.
const modelCount = 120

// Written is the result of Write.
type Written struct{ Recordings, Failed int }

// Write fills a folder with recordings and its labels.csv.
func Write(ctx context.Context, cfg Config) (Written, error) {
	var done Written
	for _, kind := range cfg.Kinds {
		if weight(kind) == "" {
			return done, fmt.Errorf("greetings_kind: %s is none: name short, again, firm, long, talk, brief, box, carrier or "+
				"screen", kind)
		}
	}
	if err := os.MkdirAll(cfg.Dir, 0o750); err != nil {
		return done, fmt.Errorf("greetings_folder: %w", err)
	}
	rows := make([][]string, cfg.Count)
	voices, err := speakersOf(cfg.Engines, cfg.Unseen)
	if err != nil {
		return done, err
	}
	said := seen()
	if cfg.Unseen {
		said = apart()
	}
	work, ending := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	unsaid := make([]error, cfg.Count)
	for n := range cfg.Count {
		work.Go(func() error {
			var err error
			rows[n], unsaid[n], err = one(ending, cfg, n, voices, said)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return done, err
	}
	if !slices.ContainsFunc(rows, func(row []string) bool { return row != nil }) {
		if i := slices.IndexFunc(unsaid, func(err error) bool { return err != nil }); i >= 0 {
			return done, unsaid[i] // a synthesiser is missing
		}
	}
	table := [][]string{{"file", "label", "detail", "license_source", "real", "voice", "weight"}}
	for _, row := range rows {
		if row == nil {
			done.Failed++
			continue
		}
		done.Recordings++
		table = append(table, row)
	}
	if !cfg.Unseen && len(cfg.Kinds) == 0 && len(cfg.Engines) == 0 {
		model, err := modelCallees(cfg)
		if err != nil {
			return done, err
		}
		done.Recordings += len(model)
		table = append(table, model...)
	}
	if err := labels(cfg.Dir, table); err != nil {
		return done, err
	}
	_, err = Sounds(ctx, cfg.Dir)
	return done, err
}

// weight is the weight of a kind; empty if there is no such kind.
func weight(kind string) string {
	for _, s := range shares {
		if s.kind == kind {
			return strconv.FormatFloat(s.weight, 'g', -1, 64)
		}
	}
	return ""
}

// labels writes the labels.csv of a folder.
func labels(dir string, table [][]string) error {
	f, err := os.Create(filepath.Join(dir, "labels.csv")) //nolint:gosec // the folder that was asked for
	if err != nil {
		return fmt.Errorf("greetings_write: %w", err)
	}
	if err := csv.NewWriter(f).WriteAll(table); err != nil {
		_ = f.Close() // the first error counts
		return fmt.Errorf("greetings_write: %w", err)
	}
	return f.Close()
}

// one makes the recording of that number, and its row; if it could not be spoken, it returns the
// reason instead.
func one(ctx context.Context, cfg Config, n int, voices []speaker, said rules) (row []string, unsaid, err error) {
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(n))) //nolint:gosec // reproducible, no secret
	kind, label := draw(r, cfg.Kinds)
	s := voices[r.IntN(len(voices))]
	p := phrase{lang: s.lang, kind: kind, text: said.say(r, s.lang, kind)}
	if p.text == "" {
		return nil, nil, nil
	}
	speed, pitch := 0.85+0.4*r.Float64(), 20+r.IntN(60)
	name := fmt.Sprintf("%s_%05d.wav", label, n)
	row = []string{name, label, fmt.Sprintf("%s [%s]: %s", p.kind, p.lang, p.text), "synthetic", "0",
		s.label(speed, pitch), weight(kind)}
	if _, err := os.Stat(filepath.Join(cfg.Dir, name)); err == nil {
		return row, nil, nil // from an interrupted run
	}
	scratch, err := os.MkdirTemp(cfg.Dir, ".scratch")
	if err != nil {
		return nil, nil, fmt.Errorf("greetings_folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // a scratch folder
	x, err := record(ctx, r, scratch, s, p, speed, pitch)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, err, nil // a synthesiser cannot say it: counted
	}
	whole := filepath.Join(scratch, name)
	if err := os.WriteFile(whole, wav.Encode(x), 0o600); err != nil {
		return nil, nil, fmt.Errorf("greetings_write: %w", err)
	}
	if err := os.Rename(whole, filepath.Join(cfg.Dir, name)); err != nil {
		return nil, nil, fmt.Errorf("greetings_write: %w", err)
	}
	return row, nil, nil
}

// modelCallees adds the people and machines of the model carrier, so that its own callees are
// classified correctly.
func modelCallees(cfg Config) ([][]string, error) {
	var rows [][]string
	for n := range modelCount {
		r := rand.New(rand.NewPCG(cfg.Seed, uint64(1_000_000+n))) //nolint:gosec // reproducible, no secret
		label, x := "human", []int16(nil)
		if n%2 == 0 {
			x = append(voice.Hello(r), make([]int16, 3*wav.Rate)...)
		} else {
			label, x = "machine", voice.Greeting(r)
		}
		name := fmt.Sprintf("model_%s_%02d.wav", label, n)
		if err := os.WriteFile(filepath.Join(cfg.Dir, name), wav.Encode(x), 0o600); err != nil {
			return nil, fmt.Errorf("greetings_write: %w", err)
		}
		rows = append(rows, []string{name, label, "model carrier", "synthetic", "0", fmt.Sprintf("model-%d", n), "1"})
	}
	return rows, nil
}

// draw draws a kind, from the given ones if any.
func draw(r *rand.Rand, kinds []string) (kind, label string) {
	total := 0.0
	for _, s := range shares {
		if len(kinds) == 0 || slices.Contains(kinds, s.kind) {
			total += s.parts
		}
	}
	at := r.Float64() * total
	for _, s := range shares {
		if len(kinds) > 0 && !slices.Contains(kinds, s.kind) {
			continue
		}
		kind, label = s.kind, s.label
		if at -= s.parts; at < 0 {
			break
		}
	}
	return kind, label
}

// longest is the maximum length of a recording in s: a verdict is given after four.
const longest = 8

// phrase is what is said: parts, and the pauses between them.
type phrase struct {
	lang, kind string
	text       string
}

// record plays the parts on the line of an answered call.
func record(ctx context.Context, r *rand.Rand, dir string, s speaker, p phrase, speed float64, pitch int) ([]int16,
	error) {
	quiet := func(x []float64, ms float64) []float64 { return append(x, make([]float64, int(ms*8))...) }
	onset := 1500 * r.Float64()
	if r.IntN(6) == 0 {
		onset = 150 * r.Float64()
	}
	x := quiet(nil, onset)
	text := p.text
	for text != "" {
		part, rest, more := strings.Cut(text, " |")
		said, err := s.say(ctx, dir, part, speed, pitch)
		if err != nil {
			return nil, err
		}
		peak := 0.0
		for _, v := range said {
			peak = math.Max(peak, math.Abs(v))
		}
		for _, v := range said {
			x = append(x, v/peak)
		}
		text = strings.TrimSpace(strings.TrimPrefix(rest, "|"))
		switch {
		case !more:
		case strings.HasPrefix(rest, "|"):
			x = quiet(x, 900+1300*r.Float64())
		default:
			x = quiet(x, 150+500*r.Float64()*r.Float64()+150*r.Float64())
		}
	}
	if p.kind == "brief" || p.kind == "box" && r.IntN(10) < 7 {
		x = quiet(x, 250+2200*r.Float64())
		x = beep(x, r)
	}
	x = quiet(x, 3000)
	level := math.Pow(10, (-3-12*r.Float64())/20) * 32767
	out := make([]int16, min(len(x), longest*8000))
	for i := range out {
		out[i] = int16(x[i] * level)
	}
	return out, nil
}

// beep adds the tone after which the caller should speak.
func beep(x []float64, r *rand.Rand) []float64 {
	hz, amplitude := 350+1650*math.Pow(r.Float64(), 1.5), 0.2+0.6*r.Float64()
	for i := range int(8 * (70 + 730*r.Float64())) {
		x = append(x, amplitude*math.Sin(2*math.Pi*hz*float64(i)/8000))
	}
	return x
}
