package persistence_test

import (
	"testing"

	"dialler/persistence/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, storetest.Open) }
