// Package writer makes what happens durable: group commits to the database, in the order
// in which they came, and a spool on disk for what calls under way produce while the
// database is away. It knows whether the database takes commits, and nothing of what is
// written.
package writer
