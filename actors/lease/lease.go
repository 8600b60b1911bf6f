package lease

import "time"

// TTL is when a channel or a caller ID whose leg was never ended is taken back. It is longer than
// any call can ring and talk under the settings' limits: the reconciliation of a crashed owner
// comes first.
const TTL = 5 * time.Hour
