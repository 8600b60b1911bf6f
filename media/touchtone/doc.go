// Package touchtone finds keys by their tones in 8 kHz audio (ITU-T Q.23, Q.24), for far sides that
// send no telephone-event. It is pure: no clock, no lock, no allocation.
package touchtone
