package greetings

import (
	"context"
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"dialler/bench/voice"
	"dialler/media/amd/corpus"
)

//go:embed phrases.txt
var phrases string

// phrase is a line of phrases.txt: parts, and the pauses between them.
type phrase struct {
	lang, kind string
	text       string
}

func lines() []phrase {
	var all []phrase
	for line := range strings.Lines(phrases) {
		lang, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		kind, text, _ := strings.Cut(rest, " ")
		if ok && lang != "#" {
			all = append(all, phrase{lang, kind, text})
		}
	}
	return all
}

// shares of the kinds, about as often as a dialler meets them.
var shares = []struct {
	kind, label string
	parts       float64
}{
	{"short", "human", 28}, {"again", "human", 4}, {"firm", "human", 11}, {"long", "human", 7},
	{"brief", "machine", 9}, {"box", "machine", 28}, {"carrier", "machine", 11}, {"screen", "screener", 2},
}

// Config of Write.
type Config struct {
	Dir   string
	Seed  uint64
	Count int // recordings
}

// modelCount is how many callees of the model carrier are added.
const modelCount = 120

// Written says what came of it.
type Written struct{ Recordings, Failed int }

// Write fills a folder with recordings and its labels.csv.
func Write(ctx context.Context, cfg Config) (Written, error) {
	var done Written
	if err := os.MkdirAll(cfg.Dir, 0o750); err != nil {
		return done, fmt.Errorf("greetings_folder: %w", err)
	}
	scratch, err := os.MkdirTemp("", "greetings")
	if err != nil {
		return done, fmt.Errorf("greetings_folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // nothing of it is needed
	rows := [][]string{{"file", "label", "detail", "license_source", "real", "voice", "onset_ms"}}
	all, voices := lines(), speakers()
	for n := range cfg.Count {
		r := rand.New(rand.NewPCG(cfg.Seed, uint64(n))) //nolint:gosec // reproducible, no secret
		kind, label := draw(r)
		s := voices[r.IntN(len(voices))]
		var of []phrase
		for _, p := range all {
			if p.kind == kind && p.lang == s.lang {
				of = append(of, p)
			}
		}
		if len(of) == 0 {
			continue
		}
		p := of[r.IntN(len(of))]
		speed, pitch := 0.85+0.4*r.Float64(), 30+r.IntN(40)
		x, onset, err := record(ctx, r, scratch, s, p, label, speed, pitch)
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		if err != nil {
			done.Failed++
			continue
		}
		name := fmt.Sprintf("%s_%04d.wav", label, n)
		if err := os.WriteFile(filepath.Join(cfg.Dir, name), corpus.EncodeWAV(x), 0o600); err != nil {
			return done, fmt.Errorf("greetings_write: %w", err)
		}
		rows = append(rows, []string{name, label, fmt.Sprintf("%s [%s]: %s", p.kind, p.lang, p.text), "synthetic", "0", s.label(speed, pitch), strconv.Itoa(onset)})
		done.Recordings++
	}
	model, err := modelCallees(cfg)
	if err != nil {
		return done, err
	}
	done.Recordings += len(model)
	rows = append(rows, model...)
	f, err := os.Create(filepath.Join(cfg.Dir, "labels.csv"))
	if err != nil {
		return done, fmt.Errorf("greetings_write: %w", err)
	}
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		_ = f.Close() // the first error counts
		return done, fmt.Errorf("greetings_write: %w", err)
	}
	return done, f.Close()
}

// modelCallees adds the people and machines of the model carrier, so that what
// it plays is known for what it is.
func modelCallees(cfg Config) ([][]string, error) {
	var rows [][]string
	for n := range modelCount {
		r := rand.New(rand.NewPCG(cfg.Seed, uint64(1_000_000+n))) //nolint:gosec // reproducible, no secret
		label, x := "human", []int16(nil)
		if n%2 == 0 {
			x = append(voice.Hello(r), make([]int16, 3*corpus.Rate)...)
		} else {
			label, x = "machine", voice.Greeting(r)
		}
		name := fmt.Sprintf("model_%s_%02d.wav", label, n)
		if err := os.WriteFile(filepath.Join(cfg.Dir, name), corpus.EncodeWAV(x), 0o600); err != nil {
			return nil, fmt.Errorf("greetings_write: %w", err)
		}
		rows = append(rows, []string{name, label, "model carrier", "synthetic", "0", fmt.Sprintf("model-%d", n), ""})
	}
	return rows, nil
}

func draw(r *rand.Rand) (kind, label string) {
	at := r.Float64() * 100
	for _, s := range shares {
		if at -= s.parts; at < 0 {
			return s.kind, s.label
		}
	}
	return "short", "human"
}

// record puts the parts on the line of an answered call.
func record(ctx context.Context, r *rand.Rand, dir string, s speaker, p phrase, label string, speed float64, pitch int) ([]int16, int, error) {
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
			return nil, 0, err
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
		x = quiet(x, 250+1100*r.Float64())
		hz, amplitude := 350+1650*math.Pow(r.Float64(), 1.5), 0.2+0.6*r.Float64()
		for i := range int(8 * (70 + 730*r.Float64())) {
			x = append(x, amplitude*math.Sin(2*math.Pi*hz*float64(i)/8000))
		}
	}
	x = quiet(x, 3000)
	level := math.Pow(10, (-3-12*r.Float64())/20) * 32767
	out := make([]int16, min(len(x), 13*8000))
	for i := range out {
		out[i] = int16(x[i] * level)
	}
	return out, int(onset), nil
}
