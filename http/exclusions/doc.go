// Package exclusions serves the lists of who must not be called: by one campaign (exclusions) or at
// all (suppressions); and the erasure of people from everything stored.
package exclusions
