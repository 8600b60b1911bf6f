package persistence_test

import (
	"testing"

	"dialler/engine/attempt"
	"dialler/persistence"
)

// Among many calls by us the few that came in are found without reading the others.
func TestCallsThatCameInAreReadFromAnIndex(t *testing.T) {
	t.Parallel()
	plans := &indexPlans{t: t, about: []string{"FROM attempts a WHERE a.inbound"}, table: "attempts",
		index: "attempts_inbound"}
	s, url := learner(t, persistence.Config{Tracer: plans}, 3000)
	run(t, url, "UPDATE attempts SET inbound = true WHERE id IN (SELECT id FROM attempts ORDER BY reserved_at "+
		"LIMIT 20); ANALYZE attempts")
	list, next, err := s.Lists.Calls(t.Context(), attempt.Query{Direction: attempt.Inbound, Limit: 10})
	if err != nil || len(list) != 10 || next == "" || plans.read != 1 {
		t.Fatalf("%d calls, %q, %v, %d plans", len(list), next, err, plans.read)
	}
}
