package actortest_test

import (
	"testing"

	"dialler/actors/actortest"
	"dialler/persistence/storetest"
)

func TestTheStoreKeepsThePromisesOfPostgreSQL(t *testing.T) {
	t.Parallel()
	storetest.RunPort(t, func(testing.TB) storetest.Port {
		s := actortest.NewStore()
		s.Delay = 0
		return s
	})
}
