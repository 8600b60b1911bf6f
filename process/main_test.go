package process_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"dialler/command"
	"dialler/process"
)

// TestMain lets the test binary act as the program if a test asks for it, and checks for leaked
// goroutines.
func TestMain(m *testing.M) {
	if os.Getenv(process.AsProgram) != "" {
		os.Exit(command.Main(os.Args[1:]))
	}
	// These tests spend most of their time waiting, mainly for call time-outs.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	status := m.Run()
	if status == 0 {
		if err := process.Ended(process.Lingering...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}
