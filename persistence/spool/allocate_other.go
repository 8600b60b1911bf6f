//go:build !linux

package spool

import "os"

// allocate takes room from the disk.
func allocate(f *os.File, size int64) error { return fill(f, size) }
