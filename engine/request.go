package engine

// Request identifies a waiting request, as named by the caller of the core, which only passes it
// on. "" means that nobody waits.
type Request string
