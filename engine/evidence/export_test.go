package evidence

// CapsOf is for tests.
var CapsOf = capsOf
