// Package command is the program's command line: one file per command or group of commands. It
// reads flags, environment and configuration file, starts what was asked for, prints, and returns
// the exit status. The parts of a running dialler are in process; models and measurements are in
// bench.
package command
