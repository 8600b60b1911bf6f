// Package admin is the small HTTP server that the model world's processes
// show on loopback, so that a harness can ask and steer them.
package admin
