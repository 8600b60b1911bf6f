// Package campaign contains the actors of the campaigns: the guardian, which starts a campaign's
// actors on demand; below it a supervisor for each campaign, its run and its contacts; and the file
// imports. Their decisions are in engine/run and engine/call.
package campaign
