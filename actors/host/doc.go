// Package host runs the actors of a process: it starts them, gives them workers, timers
// and mailboxes, restarts those that fault, and carries answers to whoever asked. It
// knows no actor in particular, and nothing of calls.
package host
