// Command dialler is an outbound dialler engine for voice bots: command reads
// what it is asked to do, process is a running dialler.
package main

import (
	"os"

	"dialler/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
