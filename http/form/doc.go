// Package form reads the bodies of requests: JSON, strictly and with all its
// mistakes at once, and the fields of an object one by one. It also makes and
// applies merge patches (RFC 7396).
//
// It must not know: requests, routes, the rest of the dialler.
package form
