// Package keys reads the installation's own keys from files and environment, and makes
// those that may be made: the key that signs records, the keys of secrets in the
// database, the certificate of the API. It knows no flag and no running dialler.
package keys
