// Package deploycheck holds tests of files in deploy/ that need the parsers of Docker: those have so many
// dependencies that they are kept out of the dialler's go.mod.
package deploycheck
