//go:build unix && !linux

package botlink

import "time"

func setUserTimeout(int, time.Duration) error { return nil }
