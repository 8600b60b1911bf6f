// Package outgoing sends requests to systems of other people, through http/egress:
// messages to webhooks, questions to eligibility hooks, fetches of Config URLs. What
// is sent and what an answer means, package engine decides.
package outgoing
