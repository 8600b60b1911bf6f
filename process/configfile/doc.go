// Package configfile reads the parts of the configuration file that are not flags: trunks and SIP
// listeners. Mistakes are reported with file, entry and field, and without secrets.
package configfile
