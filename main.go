// Command dialler is an outbound dialler engine for voice bots: package command parses the command
// line, package process is a running dialler.
package main

import (
	"os"

	"dialler/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
