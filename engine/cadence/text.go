package cadence

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
)

// Limits of a table.
const (
	TextCap   = 1000 // bytes of its text
	StepsCap  = 12   // of a class
	DelayCap  = 30 * 24 * time.Hour
	PerDayCap = 50

	NextNumberCap = 50

	Example = "busy: 5m, 15m, 1h · no_answer: 3h, another part of the day, next day · at most 3 a day"
)

const (
	wordPart   = "another part of the day"
	wordDay    = "next day"
	wordMost   = "at most "
	wordPerDay = " a day"
	wordNumber = "next number after "
	between    = " · "
)

// Parse reads a table: a rule for each class, apart by "·", ";" or lines, "at most 3 a day", and
// "next number after 2".
// A rule is "busy: 5m, 15m, 1h" or "busy: 5m, at most 4". Its error is about the given field and
// has an example that is valid.
func Parse(field, text string) (c Cadence, wrong *engine.FieldError) {
	say := func(message string) *engine.FieldError {
		return &engine.FieldError{Field: field, Code: "invalid_format", Message: message + "; for example " + Example}
	}
	tooLong := "must have at most " + strconv.Itoa(TextCap) + " bytes"
	if len(text) > TextCap {
		return c, say(tooLong)
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '·' || r == ';' || r == '\n' }) {
		part = strings.ToLower(strings.Join(strings.Fields(part), " "))
		if part == "" {
			continue
		}
		class, steps, isRule := strings.Cut(part, ":")
		if !isRule {
			if wrong := c.parseLimit(part); wrong != "" {
				return Cadence{}, say(wrong)
			}
			continue
		}
		r, message := parseRule(strings.TrimSpace(class), steps)
		if message == "" && c.rule(r.Class) != nil {
			message = "there are two rules for " + string(r.Class)
		}
		if message != "" {
			return Cadence{}, say(message)
		}
		c.Rules = append(c.Rules, r)
	}
	if len(c.Rules) == 0 && c.PerDay == 0 && c.NextNumber == 0 {
		return c, say("has no rule")
	}
	slices.SortFunc(c.Rules, func(a, b Rule) int { return a.Class.index() - b.Class.index() })
	if len(c.String()) > TextCap { // it is kept as it is printed
		return Cadence{}, say(tooLong)
	}
	return c, nil
}

// parseLimit reads what is no rule of a class; its answer says what is wrong, "" if nothing is.
func (c *Cadence) parseLimit(text string) (wrong string) {
	of, n, ok := &c.PerDay, 0, false
	if strings.HasPrefix(text, wordNumber) {
		of = &c.NextNumber
		n, ok = counted(text, wordNumber, "", NextNumberCap)
	} else {
		n, ok = counted(text, wordMost, wordPerDay, PerDayCap)
	}
	switch {
	case !ok:
		return quoted(text) + " is neither a rule nor \"at most N a day\" nor \"next number after N\", with N from 1 to " +
			strconv.Itoa(PerDayCap)
	case *of != 0 && of == &c.PerDay:
		return "the most attempts a day are given twice"
	case *of != 0:
		return "the attempts to one number are given twice"
	}
	*of = n
	return ""
}

func parseRule(class, steps string) (r Rule, wrong string) {
	r.Class = Class(class)
	if r.Class.index() < 0 {
		return r, quoted(class) + " is no class of outcomes; they are " + classNames()
	}
	for step := range strings.SplitSeq(steps, ",") {
		step = strings.TrimPrefix(strings.TrimSpace(step), "then ")
		if r.Most != 0 {
			return r, "\"at most\" comes last in a rule"
		}
		if strings.HasPrefix(step, wordMost) {
			n, ok := counted(step, wordMost, "", CountCap-1)
			if !ok {
				return r, quoted(step) + " is no limit; \"at most\" takes 1 to " + strconv.Itoa(CountCap-1) + " attempts"
			}
			r.Most = n
			continue
		}
		s, ok := parseStep(step)
		if !ok {
			return r, quoted(step) + " is no step; a step is a delay up to 30 days, such as 30s, 5m, 3h or 2d, \"" +
				wordPart + "\", or \"" + wordDay + "\""
		}
		r.Steps = append(r.Steps, s)
	}
	if len(r.Steps) > StepsCap {
		return r, "a rule has at most " + strconv.Itoa(StepsCap) + " steps"
	}
	return r, ""
}

func parseStep(text string) (s Step, ok bool) {
	switch text {
	case wordPart:
		return Step{Kind: AnotherPart}, true
	case wordDay, "the " + wordDay:
		return Step{Kind: NextDay}, true
	}
	s.Delay, ok = parseDelay(text)
	return s, ok && s.Delay > 0 && s.Delay <= DelayCap
}

// units of a delay, the longest first.
var units = []struct {
	letter byte
	of     time.Duration
}{{'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// parseDelay reads numbers with their units, such as 1h30m, the longest unit first.
func parseDelay(text string) (sum time.Duration, ok bool) {
	for _, u := range units {
		i := strings.IndexByte(text, u.letter)
		if i < 0 {
			continue
		}
		n, ok := number(text[:i], int(DelayCap/u.of))
		if !ok {
			return 0, false
		}
		sum, text = sum+time.Duration(n)*u.of, text[i+1:]
	}
	return sum, text == ""
}

// counted reads the number from 1 to a limit between two texts.
func counted(text, before, after string, most int) (int, bool) {
	text, ok := strings.CutPrefix(text, before)
	text, also := strings.CutSuffix(text, after)
	n, good := number(text, most)
	return n, ok && also && good
}

// number reads digits, from 1 to a limit.
func number(text string, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= most && strconv.Itoa(n) == text
}

func quoted(text string) string { return strconv.Quote(text) }

func classNames() string {
	names := make([]string, len(Classes))
	for i, c := range Classes {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// String prints the table in the form that Parse reads.
func (c *Cadence) String() string {
	var parts []string
	for _, r := range c.Rules {
		parts = append(parts, r.String())
	}
	if c.PerDay > 0 {
		parts = append(parts, wordMost+strconv.Itoa(c.PerDay)+wordPerDay)
	}
	if c.NextNumber > 0 {
		parts = append(parts, wordNumber+strconv.Itoa(c.NextNumber))
	}
	return strings.Join(parts, between)
}

// String prints one rule.
func (r Rule) String() string {
	steps := make([]string, len(r.Steps), len(r.Steps)+1)
	for i, s := range r.Steps {
		steps[i] = s.String()
	}
	if r.Most > 0 {
		steps = append(steps, wordMost+strconv.Itoa(r.Most))
	}
	return string(r.Class) + ": " + strings.Join(steps, ", ")
}

// String prints one step.
func (s Step) String() string {
	switch s.Kind {
	case AnotherPart:
		return wordPart
	case NextDay:
		return wordDay
	case After:
	}
	var b strings.Builder
	left := s.Delay
	for _, u := range units {
		if n := left / u.of; n > 0 {
			b.WriteString(strconv.Itoa(int(n)))
			b.WriteByte(u.letter)
			left -= n * u.of
		}
	}
	return b.String()
}
