// Package wire is one request as the resources of the API see it: who sends it and
// what they may do, what is in its path and its body, and how it is answered. Here
// alone errors become statuses and bodies (problem.go).
//
// It must not know: routes, resources, stores, actors.
//
//   - No request and no byte of it outlives its handler: what is kept is copied.
//   - A body that was cut off is never taken for a whole one (upload.go).
//   - What takes as long as a client likes runs on the connection itself, beside
//     the requests, and ends with the server (leisure.go).
package wire
