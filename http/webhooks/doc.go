// Package webhooks serves the endpoints that receive events, and the log of deliveries. It does not
// send them.
package webhooks
