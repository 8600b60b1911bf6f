// Package form reads request bodies: JSON, strictly and with all errors at once, and the fields of
// an object one by one. It also makes and applies merge patches (RFC 7396).
//
// It must not know requests, routes, or the rest of the dialler.
package form
