// Package webhooks serves the endpoints that are told what happens, and the log of
// what was sent to them. Sending is none of its business.
package webhooks
