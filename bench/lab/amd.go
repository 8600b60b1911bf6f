package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"dialler/bench/corpus"
	"dialler/bench/lab/greetings"
	"dialler/bench/lab/training"
	"dialler/media/amd"
)

type amdCmd struct {
	Eval      amdEvalCmd      `cmd:"" help:"Classify a folder of recordings: verdicts, confusion matrix, latencies, CPU."`
	Train     amdTrainCmd     `cmd:"" help:"${help_amd_train}"`
	Recorded  amdRecordedCmd  `cmd:"" help:"${help_amd_recorded}"`
	Greetings amdGreetingsCmd `cmd:"" help:"${help_amd_greetings}"`
	Sounds    amdSoundsCmd    `cmd:"" help:"${help_amd_sounds}"`
}

type amdEvalCmd struct {
	Dir           string   `arg:"" help:"Folder with WAV files, and a labels.csv if there is one."`
	JSON          bool     `name:"json" help:"Print JSON."`
	Model         string   `help:"Model file; default: the one in the program." type:"existingfile"`
	CrossValidate bool     `help:"${help_amd_eval_cross_validate}"`
	With          []string `help:"Folders to train on in the cross-validation." placeholder:"DIR"`
	Beside        []string `help:"${help_amd_eval_beside}" type:"existingdir" placeholder:"DIR"`
	Net           []string `help:"${help_amd_eval_net}" type:"existingfile" placeholder:"FILE"`
	Seed          uint64   `help:"Of the training." default:"1"`
}

// Run measures.
func (e *amdEvalCmd) Run(c *cli) error {
	folder, err := corpus.Load(e.Dir)
	if err != nil {
		return err
	}
	if e.CrossValidate {
		return e.crossValidate(c, folder)
	}
	var cfg amd.Config
	name := "shipped"
	if e.Model != "" {
		if cfg.Model, err = readModel(e.Model); err != nil {
			return err
		}
		name = e.Model
	}
	before := cpuTime()
	heard := training.Evaluate(folder.Recordings, cfg)
	return e.print(training.NewReport(name, heard, cpuTime()-before))
}

func (e *amdEvalCmd) crossValidate(c *cli, folder *corpus.Folder) error {
	opt := training.Options{Seed: e.Seed}
	var err error
	if opt.Nets, opt.Epochs, err = netsOf(e.Net); err != nil {
		return err
	}
	opt.Beside = len(e.Beside)
	set, err := prepare(c, []*corpus.Folder{folder}, slices.Concat(e.Beside, e.With), opt)
	if err != nil {
		return err
	}
	var all []training.Report
	for _, g := range []struct {
		name   string
		group  func(corpus.Recording) string
		models int
	}{{"voice", training.ByVoice, 1}, {"source", training.BySource, 2}} {
		r := training.NewReport("cross-validated by "+g.name, set.CrossValidate(g.group, g.models), 0)
		all = append(all, r)
		if !e.JSON {
			if err := r.Write(os.Stdout); err != nil {
				return err
			}
		}
	}
	if !e.JSON {
		return nil
	}
	// The list of files is that of the stricter report; both have their tables.
	return json.NewEncoder(os.Stdout).Encode(struct {
		training.Report
		ByVoice training.Report `json:"by_voice"`
	}{all[1], all[0]})
}

func (e *amdEvalCmd) print(r training.Report) error {
	if !e.JSON {
		return r.Write(os.Stdout)
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}

func readModel(file string) (*amd.Model, error) {
	b, err := os.ReadFile(file) //nolint:gosec // the file that was asked for
	if err != nil {
		return nil, err
	}
	return amd.ReadModel(b)
}

// netsOf returns the nets of model files, and the total number of epochs for which they were
// trained.
func netsOf(files []string) (nets []*amd.Net, epochs int, err error) {
	for _, file := range files {
		m, err := readModel(file)
		if err != nil {
			return nil, 0, err
		}
		nets, epochs = append(nets, m.Nets...), epochs+m.Epochs
	}
	return nets, epochs, nil
}

func prepare(c *cli, folders []*corpus.Folder, more []string, opt training.Options) (*training.Set, error) {
	for _, dir := range more {
		f, err := corpus.Load(dir)
		if err != nil {
			return nil, err
		}
		folders = append(folders, f)
	}
	log := c.logger()
	opt.Log = func(format string, args ...any) { log.Info().Msgf(format, args...) }
	return training.Prepare(folders, opt)
}

type amdTrainCmd struct {
	Dirs []string `arg:"" name:"dir" help:"Folders with WAV files and a labels.csv; the first counts most."`
	Seed uint64   `help:"The same seed gives the same model." default:"1"`
	Out  string   `help:"File that gets the model." default:"media/amd/model.json"`
	// The model records for how many epochs it was trained. The progress so far is saved beside Out
	// now and then, with the suffix .part: --from continues from it.
	Epochs int      `help:"Of training. An interrupt ends it a third later, as if fewer had been asked for." default:"240"`
	Beside []string `help:"${help_amd_train_beside}" type:"existingdir" placeholder:"DIR"`
	Net    []string `help:"${help_amd_train_net}" type:"existingfile" placeholder:"FILE"`
	From   string   `help:"Learn on with the net of this model file." type:"existingfile"`
	Pace   float64  `help:"${help_amd_train_pace}" default:"0.0015"`
}

// Run trains.
func (t *amdTrainCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	if !(t.Pace >= 1e-5 && t.Pace <= 1e-2) {
		return fmt.Errorf("--pace: %v is not between 0.00001 and 0.01", t.Pace)
	}
	opt := training.Options{Seed: t.Seed, Epochs: t.Epochs, Pace: t.Pace, Enough: func() bool { return ctx.Err() != nil }}
	var err error
	if len(t.Net) > 0 {
		if opt.Nets, opt.Epochs, err = netsOf(t.Net); err != nil {
			return err
		}
	}
	if t.From != "" {
		m, err := readModel(t.From)
		if err != nil {
			return err
		}
		opt.From = m.Nets[0]
	}
	opt.Beside = len(t.Beside)
	kept := t.Out + ".part"
	opt.Keep = func(m *amd.Model) {
		if err := writeModel(kept, m); err != nil {
			log := c.logger()
			log.Warn().Err(err).Msg("what was learned so far is not kept")
		}
	}
	set, err := prepare(c, nil, slices.Concat(t.Dirs[:1], t.Beside, t.Dirs[1:]), opt)
	if err != nil {
		return err
	}
	if err := writeModel(t.Out, set.Fit()); err != nil {
		return err
	}
	_ = os.Remove(kept) // there may be none
	_, err = fmt.Fprintf(os.Stdout, "%s is written: build the program anew to ship it\n", t.Out)
	return err
}

// writeModel replaces the previous model.
func writeModel(file string, m *amd.Model) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	// One tree per line, so that two models can be compared.
	text := strings.ReplaceAll(string(b), `{"f":`, "\n{\"f\":") + "\n"
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

type amdGreetingsCmd struct {
	Dir   string   `arg:"" help:"Folder that gets the recordings and their labels.csv."`
	Seed  uint64   `help:"The same seed gives the same recordings." default:"1"`
	Count int      `help:"Recordings." default:"12000"`
	Kinds []string `help:"These alone: short, again, firm, long, talk, brief, box, carrier, screen." placeholder:"KIND"`
	// Engines select other sets of voices.
	Engines []string `name:"engine" help:"${help_amd_greetings_engine}" placeholder:"NAME"`
	// Unseen is for measuring.
	Unseen bool `help:"Other phrases, said by other voices, on which the model is not trained: to measure it."`
}

// Run writes the recordings.
func (g *amdGreetingsCmd) Run(*cli) error {
	ctx, cancel := signals()
	defer cancel()
	done, err := greetings.Write(ctx, greetings.Config{Dir: g.Dir, Seed: g.Seed, Count: g.Count, Kinds: g.Kinds,
		Engines: g.Engines, Unseen: g.Unseen})
	if err == nil {
		_, err = fmt.Fprintf(os.Stdout, "%d recordings in %s, %d could not be said\n", done.Recordings, g.Dir, done.Failed)
	}
	return err
}

type amdRecordedCmd struct {
	Dir   string   `arg:"" help:"Folder that gets the recordings and their labels.csv."`
	Root  string   `help:"${help_amd_recorded_root}" default:"/"`
	Only  []string `help:"${help_amd_recorded_only}" placeholder:"FAMILY"`
	Seed  uint64   `help:"The same seed gives the same recordings." default:"1"`
	Count int      `help:"Recordings." default:"3000"`
}

// Run writes the recordings.
func (g *amdRecordedCmd) Run(*cli) error {
	ctx, cancel := signals()
	defer cancel()
	done, err := greetings.WriteRecorded(ctx, greetings.Recorded{Dir: g.Dir, Root: g.Root, Seed: g.Seed, Count: g.Count,
		Only: g.Only})
	if err == nil {
		_, err = fmt.Fprintf(os.Stdout, "%d recordings in %s, %d could not be made\n", done.Recordings, g.Dir, done.Failed)
	}
	return err
}

type amdSoundsCmd struct {
	Dir string `arg:"" help:"Folder with recordings and their labels.csv." type:"existingdir"`
}

// Run writes the column.
func (s *amdSoundsCmd) Run(*cli) error {
	ctx, cancel := signals()
	defer cancel()
	done, err := greetings.Sounds(ctx, s.Dir)
	if err != nil {
		return err
	}
	total := 0
	var which strings.Builder
	for _, symbol := range slices.Sorted(maps.Keys(done.Dropped)) {
		total += done.Dropped[symbol]
		fmt.Fprintf(&which, " %c (U+%04X) %d", symbol, symbol, done.Dropped[symbol])
	}
	_, err = fmt.Fprintf(os.Stdout, "%d of %d recordings have sounds; %d are cut off before their text ends; %d "+
		"symbols dropped%s\n",
		done.Known, done.Recordings, done.Cut, total, which.String())
	return err
}

// cpuTime is the CPU time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
