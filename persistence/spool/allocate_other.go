//go:build !linux

package spool

import "os"

// allocate reserves disk space.
func allocate(f *os.File, size int64) error { return fill(f, size) }
