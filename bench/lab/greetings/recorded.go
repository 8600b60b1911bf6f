package greetings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"dialler/media/wav"
)

// Recorded says which real speech to make into recordings of answered calls.
type Recorded struct {
	Dir  string // gets the recordings
	Root string // where Debian's packages are unpacked: / or a folder
	Seed uint64
	// Count is the number of recordings: half people, half machines.
	Count int
	// Only selects families; if empty, all of them are used.
	Only []string
}

// collection is real speech by one voice of a Debian package.
type collection struct {
	family, voice, licence string
	lang                   string            // named as in espeak-ng
	machines               map[string]string // prompts of a machine by name
	words                  []string          // what a person may say
	digits                 []string
	lines                  []string          // of a dialogue, in order; "" separates scenes
	texts                  map[string]string // what files say, where known
	share                  int               // how often it is drawn
}

// prompts are names of Asterisk's prompts that answer calls on their own.
var prompts = []string{
	"vm-intro", "vm-nobodyavail+vm-intro", "vm-nobodyavail", "vm-theperson+D+vm-isunavail+vm-intro",
	"vm-theperson+D+vm-isonphone+vm-intro", "vm-isunavail", "vm-isonphone", "vm-theperson+D+vm-isunavail",
	"vm-extension+D+vm-isunavail", "ss-noservice", "ss-noservice+vm-goodbye", "pbx-invalid", "pbx-invalidpark",
	"cannot-complete-as-dialed", "cannot-complete-as-dialed+check-number-dial-again", "check-number-dial-again",
	"all-circuits-busy-now", "all-circuits-busy-now+please-try-call-later",
	"im-sorry+number-not-answering+please-try-call-later", "number-not-answering", "im-sorry+please-try-call-later",
	"the-number-u-dialed", "privacy-unident", "privacy-prompt", "please-try-call-later", "vm-goodbye", "vm-login",
	"vm-password", "vm-dialout", "vm-mailboxfull", "vm-msginstruct", "vm-review", "vm-leavemsg", "vm-record-prepend",
	"queue-callswaiting", "queue-holdtime", "queue-thankyou", "queue-youarenext", "queue-thereare", "followme/call-from",
	"followme/no-recording", "followme/pls-hold-while-try",
	"followme/sorry", "followme/status", "pls-hold-process-tx", "pls-wait-connect-call", "transfer", "agent-user",
	"conf-getconfno", "conf-invalid", "dir-intro", "dir-instr", "dir-welcome", "basic-pbx-ivr-main", "invalid",
	"pls-rcrd-name-at-tone", "screen-callee-options", "priv-callee-options", "priv-recordintro", "spy-calling",
	"the-party-you-are-calling", "is-curntly-unavail", "you-dialed-wrong-number", "num-was-successfully", "ivr-welcome_to",
	"demo-congrats", "demo-thanks", "demo-instruct", "vm-tempgreeting", "vm-rec-name", "vm-rec-unv",
	"if-you-know-your-party", "thnk-u-for-patience", "please-enter-your", "enter-phone-number10", "call-forwarding",
	"unavailable", "tt-allbusy",
}

// collections finds what is installed below root, limited to the given families if any.
func collections(root string, only []string) ([]*collection, error) {
	var all []*collection
	asterisk := filepath.Join(root, "usr/share/asterisk/sounds")
	for _, of := range []struct{ dir, lang, licence string }{
		{"en_US_f_Allison", "en", "Debian asterisk-core-sounds-en-wav (Allison Smith, CC-BY-SA-3.0)"},
		{"es_MX_f_Allison", "es-419", "Debian asterisk-core-sounds-es-wav (Allison Smith, CC-BY-SA-3.0)"},
		{"fr_CA_f_June", "fr", "Debian asterisk-core-sounds-fr-wav (June Wallack, CC-BY-SA-3.0)"},
		{"it_IT_m_Carlo", "it", "Debian asterisk-core-sounds-it-wav (Carlo Flores, CC-BY-SA-3.0)"},
		{"ru_RU_f_IvrvoiceRU", "ru", "Debian asterisk-core-sounds-ru-wav (IvrvoiceRU, CC-BY-SA-3.0)"},
		{"it_IT_f_Menardi", "it", "Debian asterisk-prompt-it-menardi-wav (Menardi, Dal Zot, CC-BY-SA-3.0-IT)"},
		{"es", "es-419", "Debian asterisk-prompt-es-co (Colombian Spanish, GPL)"},
		{"fr", "fr", "Debian asterisk-prompt-fr-armelle (Armelle Desjardins, GPL)"},
	} {
		c := &collection{family: "asterisk", voice: "real-" + of.dir, lang: of.lang, licence: of.licence,
			machines: map[string]string{}, texts: map[string]string{}}
		if len(of.dir) == 2 {
			c.voice = "real-" + of.dir + "_f_prompt"
		}
		dir := filepath.Join(asterisk, of.dir)
		for _, name := range strings.Fields(strings.ReplaceAll(strings.Join(prompts, " "), "+", " ")) {
			for _, ext := range []string{".wav", ".gsm"} {
				if _, err := os.Stat(filepath.Join(dir, name+ext)); err == nil {
					c.machines[name] = filepath.Join(dir, name+ext)
				}
			}
		}
		find := func(to *[]string, patterns ...string) {
			for _, pattern := range patterns {
				// Armelle's and the Colombian prompts have the language below the folder of a kind.
				for _, at := range []string{filepath.Join(dir, pattern),
					filepath.Join(asterisk, filepath.Dir(pattern), of.dir, filepath.Base(pattern))} {
					found, err := filepath.Glob(at)
					if err == nil { // the patterns are ours and valid
						*to = append(*to, found...)
					}
				}
			}
		}
		find(&c.digits, "digits/[0-9].*")
		find(&c.words, "phonetic/*.*", "letters/*.*", "digits/day-*", "digits/mon-*", "digits/1[0-9].*", "hello.*", "yes.*",
			"no.*", "yes-dear.*", "hello-world.*", "thank-you*.*")
		c.knowPrompts(asterisk, of.dir)
		if len(c.machines) > 0 {
			all = append(all, c)
		}
	}
	people := map[string]*collection{}
	for _, of := range []struct{ dir, family, licence string }{
		{"usr/share/tuxpaint/stamps", "tuxpaint", "Debian tuxpaint-stamps-default (GPL-2)"},
		{"usr/share/ktuberling/sounds", "ktuberling", "Debian ktuberling-data (GPL-2+ CC0 CC-BY)"},
		{"usr/share/klettres", "klettres", "Debian klettres-data (GPL-2 CC0)"},
	} {
		dir := filepath.Join(root, of.dir)
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".ogg") {
				return err
			}
			lang := filepath.Base(filepath.Dir(path)) // ktuberling's
			switch of.family {
			case "tuxpaint":
				_, after, ok := strings.Cut(d.Name(), "_desc")
				if !ok {
					return nil // a noise
				}
				if lang = strings.Trim(strings.TrimSuffix(after, ".ogg"), "_."); lang == "" {
					lang = "en"
				}
			case "klettres":
				below, _ := filepath.Rel(dir, path) // it is below
				lang, _, _ = strings.Cut(below, string(filepath.Separator))
			}
			voice := "real-" + of.family + "-" + lang
			if people[voice] == nil {
				people[voice] = &collection{family: of.family, voice: voice, lang: strings.ToLower(lang), licence: of.licence,
					texts: map[string]string{}}
			}
			if of.family == "tuxpaint" {
				people[voice].texts[path] = stampText(path, lang)
			}
			people[voice].words = append(people[voice].words, path)
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("greetings_recorded: %w", err)
		}
	}
	for _, c := range people {
		all = append(all, c)
	}
	dialogues, err := dialogues(root)
	if err != nil {
		return nil, fmt.Errorf("greetings_recorded: %w", err)
	}
	all = append(append(all, dialogues...), hedgehogs(root)...)
	all = slices.DeleteFunc(all, func(c *collection) bool { return len(only) > 0 && !slices.Contains(only, c.family) })
	for _, c := range all {
		c.share = max(c.share, 1)
	}
	slices.SortFunc(all, func(a, b *collection) int { return strings.Compare(a.voice, b.voice) })
	if len(all) == 0 {
		return nil, fmt.Errorf("greetings_recorded: there is no recorded speech below %s: install or unpack "+
			"asterisk-core-sounds-en-wav and tuxpaint-stamps-default (docs/amd.md)", root)
	}
	return all, nil
}

// WriteRecorded fills a folder with recordings of real speech.
func WriteRecorded(ctx context.Context, cfg Recorded) (Written, error) {
	var done Written
	all, err := collections(cfg.Root, cfg.Only)
	if err != nil {
		return done, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o750); err != nil {
		return done, fmt.Errorf("greetings_folder: %w", err)
	}
	var drawn []*collection
	for _, c := range all {
		drawn = append(drawn, slices.Repeat([]*collection{c}, c.share)...)
	}
	rows := make([][]string, cfg.Count)
	work, ending := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for n := range cfg.Count {
		work.Go(func() error {
			row, err := cfg.one(ending, n, drawn)
			rows[n] = row
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return done, err
	}
	table := [][]string{{"file", "label", "detail", "license_source", "real", "voice"}}
	for _, row := range rows {
		if row == nil {
			done.Failed++
			continue
		}
		done.Recordings++
		table = append(table, row)
	}
	if err := labels(cfg.Dir, table); err != nil {
		return done, err
	}
	_, err = Sounds(ctx, cfg.Dir)
	return done, err
}

// one makes a machine for an even number, a person for an odd one, or only people where there are
// no machines.
func (cfg Recorded) one(ctx context.Context, n int, all []*collection) ([]string, error) {
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(n))) //nolint:gosec // reproducible, no secret
	scratch, err := os.MkdirTemp("", "recorded")
	if err != nil {
		return nil, fmt.Errorf("greetings_folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // a scratch folder
	label := []string{"machine", "human"}[n%2]
	if !slices.ContainsFunc(all, func(c *collection) bool { return len(c.machines) > 0 }) {
		label = "human"
	}
	var c *collection
	var paths []string
	var kind, detail string
	for try := 0; len(paths) == 0 && try < 50; try++ {
		c = all[r.IntN(len(all))]
		switch {
		case label == "machine":
			kind, detail, paths = c.machine(r)
		case len(c.lines) > 0:
			kind, detail, paths = c.talker(r)
		default:
			kind, detail, paths = c.person(r)
		}
	}
	onset := 1500 * r.Float64()
	x := make([]float64, int(onset*8))
	text, pause, known := "", "", true
	for i, path := range paths {
		if path == "" { // no reply to the greeting: it is repeated
			x = append(x, make([]float64, int(8*(900+1300*r.Float64())))...)
			pause = " || "
			continue
		}
		if i > 0 {
			x = append(x, make([]float64, int(8*(60+200*r.Float64())))...)
		}
		said, err := hear(ctx, scratch, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, nil //nolint:nilerr // it cannot be read: counted
		}
		if len(c.lines) > 0 && i > 0 && len(x)+len(said) > (longest-1)*wav.Rate {
			if kind == "again" {
				kind = "short"
			}
			break // no room for more
		}
		text, pause = text+pause+c.texts[path], " | "
		known = known && isSaid(c.texts[path], float64(len(said))/wav.Rate)
		loud := 0.0
		for _, v := range said {
			loud = math.Max(loud, math.Abs(v))
		}
		for _, v := range said {
			x = append(x, 0.7*v/loud)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	if label == "machine" && r.IntN(2) == 0 {
		x = beep(append(x, make([]float64, int(8*(250+2200*r.Float64())))...), r)
	}
	x = append(x, make([]float64, 3*wav.Rate)...)
	out := make([]int16, min(len(x), longest*8000))
	for i := range out {
		out[i] = int16(x[i] * 24000)
	}
	if known {
		detail = fmt.Sprintf("%s [%s]: %s", kind, c.lang, text)
	}
	name := fmt.Sprintf("real_%s_%05d.wav", label, n)
	if err := os.WriteFile(filepath.Join(cfg.Dir, name), wav.Encode(out), 0o600); err != nil {
		return nil, fmt.Errorf("greetings_write: %w", err)
	}
	return []string{name, label, detail, c.licence, "1", c.voice}, nil
}

// machine draws prompts that all exist.
func (c *collection) machine(r *rand.Rand) (kind, detail string, paths []string) {
	p := prompts[r.IntN(len(prompts))]
	for name := range strings.SplitSeq(p, "+") {
		if name == "D" && len(c.digits) > 0 {
			for range 2 + r.IntN(3) {
				paths = append(paths, c.digits[r.IntN(len(c.digits))])
			}
			continue
		}
		path := c.machines[name]
		if path == "" {
			return "", "", nil
		}
		paths = append(paths, path)
	}
	return "prompt", "prompt: " + p, paths
}

// person draws words, sometimes twice, or as many as a person says who talks without a pause.
func (c *collection) person(r *rand.Rand) (kind, detail string, paths []string) {
	of, most, kind := c.words, 1, "words"
	if len(c.digits) > 0 && r.IntN(2) == 0 {
		of, most, kind = c.digits, 6, "digits"
	}
	if len(of) == 0 {
		return "", "", nil
	}
	least := 1
	switch r.IntN(8) {
	case 0, 1:
		most = max(most, 4)
	case 2, 3:
		least, most = 4, 9
	}
	for range least + r.IntN(most) {
		paths = append(paths, of[r.IntN(len(of))])
	}
	if r.IntN(6) == 0 && len(paths) == 1 {
		paths = append(paths, "", paths[0])
	}
	return kind, kind, paths
}

// talker draws lines of a dialogue: one or several in a row without a pause, or a short one,
// sometimes twice.
func (c *collection) talker(r *rand.Rand) (kind, detail string, paths []string) {
	if r.IntN(3) == 0 {
		for range 30 {
			path := c.lines[r.IntN(len(c.lines))]
			if path == "" || len([]rune(c.texts[path])) > shortLine {
				continue
			}
			if r.IntN(4) == 0 {
				return "again", "again", []string{path, "", path}
			}
			return "short", "short", []string{path}
		}
		return "", "", nil // another try
	}
	from := r.IntN(len(c.lines))
	paths = c.lines[from:min(len(c.lines), from+1+r.IntN(3))]
	if end := slices.Index(paths, ""); end >= 0 {
		paths = paths[:end]
	}
	return "talk", "talk", paths
}

// hear reads a file at 8 kHz, trimmed; without dither, so that the result is always the same.
func hear(ctx context.Context, scratch, path string) ([]float64, error) {
	if strings.HasSuffix(path, ".wav") {
		if x, err := wav.Read(path); err == nil {
			out := make([]float64, len(x))
			for i, v := range x {
				out[i] = float64(v) / 32768
			}
			return trim(out), nil
		}
	}
	out := filepath.Join(scratch, "heard.wav")
	cmd := exec.CommandContext(ctx, "sox", "-D", path, "-b", "16", "-e", "signed-integer", "-c", "1",
		out) //nolint:gosec // files of our own and of the packages
	if msg, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("greetings_recorded: sox: %w: %s: install sox and libsox-fmt-base", err, bytes.TrimSpace(msg))
	}
	b, err := os.ReadFile(out) //nolint:gosec // in our own folder
	if err != nil {
		return nil, err
	}
	return decode(b)
}
