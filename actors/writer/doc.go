// Package writer makes events durable: group commits to the database, in order, and a spool on disk
// for the data of live calls while the database is down. It knows whether the database takes
// commits, but nothing of what is written.
package writer
