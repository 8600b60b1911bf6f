// Package pace gives many calls their turn every 20 ms from a few goroutines. A pacer's members are
// spread over slots of 4 ms, so that a thousand packets are not sent in one burst.
package pace
