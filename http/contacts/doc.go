// Package contacts serves the contacts of campaigns and the ways in which they come in:
// lists, files, triggers. What becomes of a contact is decided behind its ports.
package contacts
