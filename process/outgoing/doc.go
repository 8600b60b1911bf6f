// Package outgoing sends requests to third-party systems, through http/egress: messages to
// webhooks, questions to eligibility hooks, fetches of Config URLs. Package engine decides what is
// sent and what a response means.
package outgoing
