// Package keys reads the installation's own keys from files and environment, and creates those that
// may be created: the key that signs records, the keys of secrets in the database, the certificate
// of the API. It knows no flags and no running dialler.
package keys
