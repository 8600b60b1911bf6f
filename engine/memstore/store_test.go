package memstore_test

import (
	"testing"
	"time"

	"dialler/engine/memstore"
	"dialler/persistence/storetest"
)

func TestTheStoreKeepsThePromisesOfPostgreSQL(t *testing.T) {
	t.Parallel()
	storetest.RunPort(t, func(testing.TB) storetest.Port {
		return memstore.New(memstore.Options{Now: time.Now, KeepEvents: true, KeepEnded: true})
	})
}
