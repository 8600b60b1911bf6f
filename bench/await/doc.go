// Package await lets tests and harnesses wait for a condition with a
// deadline, without sleeping and without a cost for those who report
// changes while nobody waits.
package await
