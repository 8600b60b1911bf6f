// Package await lets tests and harnesses wait for a condition with a deadline, without sleeping,
// and at no cost for reporting changes while nothing waits.
package await
