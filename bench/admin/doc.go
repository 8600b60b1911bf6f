// Package admin is the small HTTP server of the model world's processes on loopback, through which
// a harness queries and steers them.
package admin
