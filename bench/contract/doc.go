// Package contract makes requests from an OpenAPI file, as somebody would who has
// read nothing else: most of them are what the file allows, some are not, in one
// place or another. It holds every answer against the same file.
//
// # What it must not know
//
// The routes, types and errors of the server: only the file. What it learns of a
// server (identifiers that exist) it takes out of the answers.
//
// # What it never asks for
//
// A host, address or URL that it invents is on the loopback, or is none.
package contract
