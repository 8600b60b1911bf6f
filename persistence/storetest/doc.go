// Package storetest holds what tests of, and with, the store need: a private
// PostgreSQL that all test processes of a machine's user share, a database of
// its own for every test, a network connection that fails where it is told to,
// and the one conformance suite of the store.
//
// A test that needs PostgreSQL fails, and is not skipped, when its server
// binaries are missing: what was not tested must not look tested.
//
// The shared server is started by the first test process and adopted by those
// after it; it is never stopped by them. Its durability is that of the real
// one.
package storetest
