package engine

// Request is whoever waits for an answer, as the caller of the core names it; the
// core only hands it on. "" is nobody.
type Request string
