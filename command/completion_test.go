package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// script writes the completion of a shell to a file.
func script(t *testing.T, shell string) (path string, all []completed) {
	t.Helper()
	_, k, err := parse([]string{"completion", shell})
	if err != nil {
		t.Fatal(err)
	}
	all = completions(k.Model.Node, "")
	var b bytes.Buffer
	if err := completers[shell](&b, all); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "dialler."+shell)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, all
}

// completedBy runs a shell that completes lines, one answer a line of its output.
func completedBy(t *testing.T, shell, text string) []string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skip("no ", shell, " here")
	}
	cmd := exec.CommandContext(t.Context(), shell, "-c", text)
	cmd.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(cmd.Dir, "dialler.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%s: %v %s", shell, err, &said)
	}
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n")
}

// typed are command lines, the last word unfinished, and what they are completed with.
var typed = map[string]string{
	"dialler ser":                             "serve",
	"dialler db acc":                          "accept-restore",
	"dialler --log-level debug db aud":        "audit",
	"dialler serve --rtp-p":                   "--rtp-ports",
	"dialler db audit --sin":                  "--since",
	"dialler serve --log-level d":             "debug",
	"dialler bench load --bot s":              "sip",
	"dialler trunk test --bot s":              "",
	"dialler serve --config dial":             "dialler.yaml",
	"dialler completion z":                    "zsh",
	"dialler config show --rtp-ports 1024-20": "",
}

func TestBashCompletesCommandsFlagsAndValues(t *testing.T) {
	t.Parallel()
	path, _ := script(t, "bash")
	for line, want := range typed {
		words := strings.Fields(line)
		got := completedBy(t, "bash", "source "+path+"; COMP_WORDS=("+line+"); COMP_CWORD="+
			string(rune('0'+len(words)-1))+"; _dialler; IFS=' '; echo \"${COMPREPLY[*]}\"")
		if got[0] != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	got := completedBy(t, "bash", "source "+path+"; COMP_WORDS=(dialler serve --log-level = w); COMP_CWORD=4; _dialler; "+
		"echo ${COMPREPLY[*]}; complete -p dialler")
	if got[0] != "warn" || !strings.HasSuffix(got[1], "_dialler dialler") {
		t.Errorf("--log-level=w: %q", got)
	}
}

func TestFishCompletesCommandsFlagsAndValues(t *testing.T) {
	t.Parallel()
	path, _ := script(t, "fish")
	for line, want := range typed {
		var names []string
		for _, l := range completedBy(t, "fish", "source "+path+"; complete -C "+quoted(line)) {
			name, _, _ := strings.Cut(l, "\t")
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestZshCompletesCommandsFlagsAndValues(t *testing.T) {
	t.Parallel()
	path, _ := script(t, "zsh")
	// The functions that add completions print them instead.
	const stubs = `compdef() { }; compadd() { shift; print -l -- $@ }; _files() { print -l -- * }; _describe() {
		local o; for o in "${(@P)2}"; do print -r -- "${o%%:*}"; done }; `
	for line, want := range typed {
		words := strings.Fields(line)
		var got []string
		for _, name := range completedBy(t, "zsh", stubs+"source "+path+"; words=("+line+"); CURRENT=$#words; _dialler") {
			if strings.HasPrefix(name, words[len(words)-1]) {
				got = append(got, name)
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestEveryCommandAndFlagIsCompleted(t *testing.T) {
	t.Parallel()
	_, k, err := parse([]string{"completion", "bash"})
	if err != nil {
		t.Fatal(err)
	}
	_, all := script(t, "bash")
	var check func(n *kong.Node, at string, inherited []*kong.Flag)
	check = func(n *kong.Node, at string, inherited []*kong.Flag) {
		i := slices.IndexFunc(all, func(c completed) bool { return c.at == at })
		if i < 0 {
			t.Errorf("%q is not completed", at)
			return
		}
		flags := slices.DeleteFunc(append(slices.Clip(inherited), n.Flags...), func(f *kong.Flag) bool { return f.Hidden })
		if len(flags) != len(all[i].flags) {
			t.Errorf("%q: %d flags, want %d", at, len(all[i].flags), len(flags))
		}
		for _, child := range n.Children {
			check(child, at+" "+child.Name, flags)
		}
	}
	check(k.Model.Node, "", nil)
}
