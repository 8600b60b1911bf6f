// Package storetest contains what tests of the store, and tests that use it, need: a private
// PostgreSQL shared by all test processes of a machine's user, a database of its own for every
// test, a network connection that fails on command, and the single conformance suite of the store.
//
// A test that needs PostgreSQL fails, rather than being skipped, when the server binaries are
// missing: what was not tested must not look tested.
//
// The shared server is started by the first test process and adopted by later ones; none of them
// stops it. Its durability is that of the real one.
package storetest
