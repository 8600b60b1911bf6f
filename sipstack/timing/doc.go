// Package timing holds the timer values of RFC 3261 and the two clocks of the
// stack: the monotonic one of its deadlines and the boot-time one of send-by
// times.
package timing
