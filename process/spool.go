package process

import (
	"fmt"
	"time"

	"dialler/http"
	"dialler/persistence/spool"
)

// writers is how many group commits may run concurrently, each with a lane of the spool.
const writers = 4

// spoolCap bounds --spool-size, in MiB.
const spoolCap = 64 << 10

// spoolCheck is the spool's entry in /readyz.
func spoolCheck(s spool.Stats) http.Check {
	c := http.Check{Name: "spool", OK: true}
	waiting := fmt.Sprintf("%d writes of live calls wait on disk for the database since %s, %.1f of %d MiB",
		s.Records, s.Oldest.UTC().Format(time.RFC3339), float64(s.Bytes)/(1<<20), s.Size>>20)
	switch {
	case s.Broken:
		c.OK, c.Detail = false, "the disk of the spool takes no writes; live calls wait for the database"
	case s.Full:
		c.OK, c.Detail = false, waiting+": there is no room for more, and live calls wait for the database"
	case s.Records > 0:
		c.Detail = waiting
	}
	return c
}
