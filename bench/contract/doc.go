// Package contract generates requests from an OpenAPI file, like somebody who has read nothing
// else: most of them are valid according to the file, some are invalid in one place. It checks
// every response against the same file.
//
// # What it must not know
//
// The server's routes, types and errors: only the file. What it learns of a server (existing
// identifiers) it takes from the responses.
//
// # What it never asks for
//
// Any host, address or URL that it makes up is on the loopback, or invalid.
package contract
