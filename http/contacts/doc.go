// Package contacts serves the contacts of campaigns and their sources: lists, files, triggers. What
// happens to a contact is decided behind its ports.
package contacts
