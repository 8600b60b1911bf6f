// Package configfile reads from the configuration file what is no flag: trunks and SIP
// listeners. Mistakes are told with file, entry and field, and without secrets.
package configfile
