package table

import (
	"encoding/binary"
	"encoding/hex"
	"time"
)

// IDSlack is how much the time in an attempt's identifier, taken from the clock of the node that
// created it, may differ from that of its reservation.
const IDSlack = time.Minute

// IDAt is the lowest identifier that can be created at a time.
func IDAt(at time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(max(0, at.UnixMilli()))<<16)
	return hex.EncodeToString(b[:])
}
