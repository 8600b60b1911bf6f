// Package idempotency makes a repeated request harmless: the response to a request with an
// Idempotency-Key is stored, and the same request gets it again.
//
// It must not know what a request does.
package idempotency
