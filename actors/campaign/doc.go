// Package campaign has the actors of the campaigns: the guardian, which brings a campaign
// up when it is touched; below it a supervisor for each campaign, its run and its
// contacts; and the imports of files. What they decide stands in engine/run and
// engine/call.
package campaign
