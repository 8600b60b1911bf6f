// Package reports serves reports on campaigns: the Attempt Report, and the record of a run.
package reports
