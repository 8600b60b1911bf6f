// Package download sends files: sheets (CSV) as they are read, and archives that are completed
// first. Their number is limited, and a truncated file never looks complete.
//
// It must not know what is in a file.
package download
