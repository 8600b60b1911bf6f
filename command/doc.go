// Package command is the program's command line: one file a command, or a group
// of them. It reads flags, environment and configuration file, starts what was
// asked for, prints, and gives the exit status. What a running dialler is made of
// stands in process, what models and measurements do in bench.
package command
