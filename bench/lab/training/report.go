package training

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"dialler/engine"
)

// Line is one recording of a report.
type Line struct {
	File       string   `json:"file"`
	Label      string   `json:"label"` // empty if there was none
	Verdict    string   `json:"verdict"`
	Tones      []string `json:"tones"` // progress, beep, music: in the whole recording
	Confidence float64  `json:"confidence"`
	DecisionMS int64    `json:"decision_ms"`
	// Revised means that a beep after the verdict made it a machine.
	Revised bool `json:"revised"`
	Real    bool `json:"real"`
}

// Latency describes the latency of verdicts, in ms.
type Latency struct {
	Verdicts int   `json:"verdicts"`
	Median   int64 `json:"median_ms"`
	P95      int64 `json:"p95_ms"`
}

// Part contains the figures of all recordings, or of the real or synthesised ones.
type Part struct {
	Name      string                    `json:"name"`
	Confusion map[string]map[string]int `json:"confusion"` // label, verdict: recordings
	// For people and machines: shares, 0…1; unknown counts as wrong in Accuracy.
	Accuracy        float64            `json:"accuracy"`
	HumansAsMachine float64            `json:"humans_as_machine"`
	MachinesAsHuman float64            `json:"machines_as_human"`
	Latency         map[string]Latency `json:"latency"` // by label, and all
	// HumanWait is the time from the end of the greeting, as the classifier measured it, to the
	// verdict on a person.
	HumanWait Latency `json:"human_wait"`
}

// Report is the output of `lab amd eval`.
type Report struct {
	Files []Line `json:"files"`
	// Model is shipped, or how it was cross-validated.
	Model string `json:"model"`
	Parts []Part `json:"parts"`
	// CPUShare is the share of one core per call while it is being classified.
	CPUShare float64 `json:"cpu_share"`
	// Tones is the recall by label (sit and fax by verdict; progress, beep and music by what was
	// heard), and recordings of people in which a tone was heard.
	Tones map[string]string `json:"tone_recall"`
}

// NewReport sums up results; cpu is the CPU time that they took.
func NewReport(model string, heard []Heard, cpu time.Duration) Report {
	r := Report{Model: model, Files: make([]Line, 0, len(heard))}
	var media time.Duration
	for _, h := range heard {
		d := h.Decision
		media += h.Media
		r.Files = append(r.Files, Line{
			File: h.Recording.File, Label: h.Recording.Label, Verdict: string(d.Verdict), Tones: h.Tones,
			Confidence: float64(int(d.Confidence*1000)) / 1000, DecisionMS: d.At.Milliseconds(), Revised: h.Revised,
			Real: h.Recording.Real,
		})
	}
	if media > 0 {
		r.CPUShare = cpu.Seconds() / media.Seconds()
	}
	r.Parts = append(r.Parts, part("all", heard))
	for _, name := range []string{"real", "synthesised"} {
		of := slices.DeleteFunc(slices.Clone(heard), func(h Heard) bool { return h.Recording.Real != (name == "real") })
		if len(of) > 0 && len(of) < len(heard) {
			r.Parts = append(r.Parts, part(name, of))
		}
	}
	r.Tones = tones(heard)
	return r
}

func part(name string, heard []Heard) Part {
	p := Part{Name: name, Confusion: map[string]map[string]int{}, Latency: map[string]Latency{}}
	took := map[string][]time.Duration{}
	var wait []time.Duration
	for _, h := range heard {
		label, d := h.Recording.Label, h.Decision
		if label == "" {
			label = "unlabelled"
		}
		if p.Confusion[label] == nil {
			p.Confusion[label] = map[string]int{}
		}
		p.Confusion[label][string(d.Verdict)]++
		took[label] = append(took[label], d.At)
		took["all"] = append(took["all"], d.At)
		if label == "human" && d.Verdict == engine.VerdictHuman && d.GreetingEnd > 0 {
			wait = append(wait, d.At-d.GreetingEnd)
		}
	}
	for label, t := range took {
		p.Latency[label] = latency(t)
	}
	p.HumanWait = latency(wait)
	human, machine := p.Confusion["human"], p.Confusion["machine"]
	humans, machines := count(human), count(machine)
	if humans > 0 {
		p.HumansAsMachine = float64(human["machine"]) / float64(humans)
	}
	if machines > 0 {
		p.MachinesAsHuman = float64(machine["human"]) / float64(machines)
	}
	if humans+machines > 0 {
		p.Accuracy = float64(human["human"]+machine["machine"]) / float64(humans+machines)
	}
	return p
}

func count(verdicts map[string]int) int {
	n := 0
	for _, c := range verdicts {
		n += c
	}
	return n
}

func latency(t []time.Duration) Latency {
	if len(t) == 0 {
		return Latency{}
	}
	slices.Sort(t)
	at := func(q float64) int64 { return t[min(len(t)-1, int(q*float64(len(t))))].Milliseconds() }
	return Latency{Verdicts: len(t), Median: at(0.5), P95: at(0.95)}
}

func tones(heard []Heard) map[string]string {
	found, all, onSpeech := map[string]int{}, map[string]int{}, 0
	for _, h := range heard {
		label := h.Recording.Label
		hit := false
		switch label {
		case "fax", "sit":
			hit = label == string(h.Decision.Verdict)
		case "progress", "beep", "music":
			hit = slices.Contains(h.Tones, label)
		case "human":
			if len(h.Tones) > 0 || h.Decision.Verdict == engine.VerdictFax || h.Decision.Verdict == engine.VerdictSIT {
				onSpeech++
			}
			all["human"]++
			continue
		default:
			continue
		}
		all[label]++
		if hit {
			found[label]++
		}
	}
	out := map[string]string{}
	for label, n := range all {
		out[label] = fmt.Sprintf("%d/%d", found[label], n)
	}
	if all["human"] > 0 {
		delete(out, "human")
		out["false_on_humans"] = fmt.Sprintf("%d/%d", onSpeech, all["human"])
	}
	return out
}

var verdicts = []engine.Verdict{engine.VerdictHuman, engine.VerdictMachine, engine.VerdictFax, engine.VerdictSIT,
	engine.VerdictSilence, engine.VerdictUnknown, engine.VerdictScreener}

// Write prints the tables for people.
func (r Report) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) } // Flush reports errors
	say("model: %s\n", r.Model)
	for _, p := range r.Parts {
		say("\n%s\n", strings.ToUpper(p.Name[:1])+p.Name[1:])
		say("label\\verdict\t")
		for _, v := range verdicts {
			say("%s\t", v)
		}
		say("median ms\tp95 ms\t\n")
		labels := make([]string, 0, len(p.Confusion))
		for l := range p.Confusion {
			labels = append(labels, l)
		}
		slices.Sort(labels)
		for _, l := range labels {
			say("%s\t", l)
			for _, v := range verdicts {
				say("%d\t", p.Confusion[l][string(v)])
			}
			say("%d\t%d\t\n", p.Latency[l].Median, p.Latency[l].P95)
		}
		say("all\t\t\t\t\t\t\t\t%d\t%d\t\n", p.Latency["all"].Median, p.Latency["all"].P95)
		if count(p.Confusion["human"])+count(p.Confusion["machine"]) > 0 {
			say("people and machines: accuracy %.1f %%, people taken for machines %.1f %%, machines taken for people %.1f %%\n",
				100*p.Accuracy, 100*p.HumansAsMachine, 100*p.MachinesAsHuman)
			say("verdict on a person after the end of the greeting: median %d ms, p95 %d ms (%d that had ended)\n",
				p.HumanWait.Median, p.HumanWait.P95, p.HumanWait.Verdicts)
		}
	}
	say("\ntones found:")
	names := make([]string, 0, len(r.Tones))
	for n := range r.Tones {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		say(" %s %s", n, r.Tones[n])
	}
	say("\nCPU per call while listening: %.3f %% of a core\n", 100*r.CPUShare)
	return w.Flush()
}
