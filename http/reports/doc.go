// Package reports serves what is written of campaigns: the Attempt Report, and the
// record of a run.
package reports
