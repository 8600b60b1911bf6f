package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Run prints the script.
func (c *completionCmd) Run(k *kong.Context) error {
	return completers[c.Shell](k.Stdout, completions(k.Model.Node, ""))
}

// completers print the script of each shell.
var completers = map[string]func(io.Writer, []completed) error{
	"bash": completeBash, "zsh": completeZsh, "fish": completeFish,
}

// completed is what may follow a command.
type completed struct {
	at       string // " db audit", "" before any command
	commands []offered
	flags    []offered
}

// offered is one command or flag, and what may follow the flag.
type offered struct {
	name, help string
	takes      bool     // a value follows
	values     []string // the only ones, if any
	files      bool     // which is a file or a folder
}

// completions walks the flag table: a command of a command inherits its flags.
func completions(n *kong.Node, at string, inherited ...offered) (all []completed) {
	c := completed{at: at, flags: inherited}
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		o := offered{name: "--" + f.Name, help: f.Help, takes: !f.IsBool(),
			files: f.PlaceHolder == "FILE" || f.PlaceHolder == "DIR" || strings.HasSuffix(f.Tag.Type, "file")}
		if f.Enum != "" {
			o.values = f.EnumSlice()
		}
		c.flags = append(slices.Clip(c.flags), o)
	}
	for _, p := range n.Positional {
		for _, v := range p.EnumSlice() {
			if p.Enum != "" {
				c.commands = append(c.commands, offered{name: v})
			}
		}
	}
	all = append(all, c)
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		all[0].commands = append(all[0].commands, offered{name: child.Name, help: child.Help})
		all = append(all, completions(child, at+" "+child.Name, c.flags...)...)
	}
	return all
}

// patterns are the commands' paths as the patterns of a case, which all three shells have.
func patterns(all []completed, separator string) string {
	var list []string
	for _, c := range all[1:] {
		list = append(list, quoted(c.at))
	}
	return strings.Join(list, separator)
}

// quoted quotes a text for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// words quotes names as one word, which the shell splits: none of them has a space.
func words(list ...[]offered) string {
	var names []string
	for _, l := range list {
		for _, o := range l {
			names = append(names, o.name)
		}
	}
	return quoted(strings.Join(names, " "))
}

// byValue groups the flags that take a value: those with values of their own, by these, and those with
// files, each as the pattern of its command and itself.
func byValue(all []completed) (valued map[string][]string, files, others []string) {
	valued = map[string][]string{}
	for _, c := range all {
		for _, f := range c.flags {
			pattern := quoted(c.at + " " + f.name)
			switch {
			case !f.takes:
			case len(f.values) > 0:
				values := strings.Join(f.values, " ")
				valued[values] = append(valued[values], pattern)
			case f.files:
				files = append(files, pattern)
			default:
				others = append(others, pattern)
			}
		}
	}
	return valued, files, others
}

// printer remembers the first error of what it prints.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func completeBash(w io.Writer, all []completed) error {
	p := &printer{w: w}
	p.f(`# Completion of dialler for bash: source <(dialler completion bash)
_dialler() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
      %s) at="$at ${COMP_WORDS[i]}" ;;
    esac
  done
  # --flag=value comes as three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  case "$at $prev" in
`, patterns(all, "|"))
	valued, files, others := byValue(all)
	for _, values := range slices.Sorted(maps.Keys(valued)) {
		p.f("    %s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", strings.Join(valued[values], "|"),
			quoted(values))
	}
	p.f("    %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", strings.Join(files, "|"))
	p.f("    %s) return ;;\n  esac\n  case $at in\n", strings.Join(others, "|"))
	for _, c := range all {
		p.f("    %s) words=%s ;;\n", quoted(c.at), words(c.commands, c.flags))
	}
	p.f("  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -F _dialler dialler\n")
	return p.err
}

func completeZsh(w io.Writer, all []completed) error {
	p := &printer{w: w}
	p.f(`#compdef dialler
# Completion of dialler for zsh: source <(dialler completion zsh), or as _dialler in a folder of $fpath
_dialler() {
  local at= w
  local -a commands flags
  for w in "${words[2,CURRENT-1][@]}"; do
    case "$at $w" in
      %s) at="$at $w" ;;
    esac
  done
  case "$at ${words[CURRENT-1]}" in
`, patterns(all, "|"))
	valued, files, others := byValue(all)
	for _, values := range slices.Sorted(maps.Keys(valued)) {
		p.f("    %s) compadd -- %s; return ;;\n", strings.Join(valued[values], "|"), values)
	}
	p.f("    %s) _files; return ;;\n", strings.Join(files, "|"))
	p.f("    %s) return ;;\n  esac\n  case $at in\n", strings.Join(others, "|"))
	described := func(list []offered) string {
		var out []string
		for _, o := range list {
			out = append(out, quoted(strings.ReplaceAll(o.name, ":", `\:`)+":"+o.help))
		}
		return strings.Join(out, " ")
	}
	for _, c := range all {
		p.f("    %s) commands=(%s) flags=(%s) ;;\n", quoted(c.at), described(c.commands), described(c.flags))
	}
	p.f("  esac\n  _describe command commands\n  _describe flag flags\n}\n" +
		"if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _dialler \"$@\"; else compdef _dialler dialler; fi\n")
	return p.err
}

func completeFish(w io.Writer, all []completed) error {
	p := &printer{w: w}
	p.f(`# Completion of dialler for fish: dialler completion fish | source
function __dialler_at
    set -l at ''
    for w in (commandline -opc)[2..]
        switch "$at $w"
            case %s
                set at "$at $w"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c dialler -f
`, patterns(all, " "))
	for _, c := range all {
		when := "-n " + fishQuoted("__dialler_at '"+c.at+"'")
		for _, o := range c.commands {
			p.f("complete -c dialler %s -a %s -d %s\n", when, o.name, fishQuoted(o.help))
		}
		for _, o := range c.flags {
			takes := ""
			switch {
			case len(o.values) > 0:
				takes = " -x -a " + quoted(strings.Join(o.values, " "))
			case o.files:
				takes = " -r -F"
			case o.takes:
				takes = " -x"
			}
			p.f("complete -c dialler %s -l %s%s -d %s\n", when, strings.TrimPrefix(o.name, "--"), takes, fishQuoted(o.help))
		}
	}
	return p.err
}

// fishQuoted quotes a text for fish, whose single quotes know a backslash.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
