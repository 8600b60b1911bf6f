// Package host runs the actors of a process: it starts them, gives them workers, timers and
// mailboxes, restarts them after a fault, and carries answers back to callers. It knows no
// particular actor, and nothing of calls.
package host
