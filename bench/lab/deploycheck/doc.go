// Package deploycheck tests files in deploy/ that need Docker's parsers: those have so many
// dependencies that they are kept out of the dialler's go.mod.
package deploycheck
