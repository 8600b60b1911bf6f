// Package exclusions serves who must not be called: by one campaign, by nobody
// (suppressions), and people who are taken out of everything that is stored.
package exclusions
