package lease

import "time"

// TTL is when a channel or a caller ID whose leg nobody ended is taken
// back. It is beyond any call, which rings and talks no longer than the most
// that settings allow: the reconciliation of a crashed owner comes first.
const TTL = 5 * time.Hour
