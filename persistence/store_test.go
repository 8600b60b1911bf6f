package persistence_test

import (
	"testing"

	"dialler/persistence"
	"dialler/persistence/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, storetest.Open) }

func TestStoreWithFaults(t *testing.T) {
	storetest.RunFaults(t, func(t testing.TB, cfg persistence.Config) *persistence.Store {
		return storetest.OpenAt(t, storetest.URL(t), cfg)
	})
}
