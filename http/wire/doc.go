// Package wire is one request as the API's resources see it: who sends it and what they may do,
// what is in its path and body, and how it is answered. Only this package turns errors into
// statuses and bodies (problem.go).
//
// It must not know routes, resources, stores or actors.
//
//   - No request and no byte of it outlives its handler: what is kept is copied.
//   - A body that was cut off is never taken for a complete one (upload.go).
//   - Work that takes as long as a client likes runs on the connection itself, apart
//     from the requests, and ends with the server (leisure.go).
package wire
