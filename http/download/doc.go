// Package download sends files: sheets (CSV) as they are read, and archives that are
// made as a whole first. There are only so many at a time, and one that was cut off
// never looks complete.
//
// It must not know: what is in a file.
package download
