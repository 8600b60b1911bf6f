package process_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"dialler/command"
	"dialler/process"
)

// TestMain lets the test binary be the program when a test asks for that, and
// looks for goroutines that nobody ended.
func TestMain(m *testing.M) {
	if os.Getenv(process.AsProgram) != "" {
		os.Exit(command.Main(os.Args[1:]))
	}
	// These tests wait most of their time, for time-outs of calls above all.
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
