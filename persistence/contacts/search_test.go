package contacts

import (
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/persistence/table"
)

// So many searches run and so many wait for them. One more is refused at once, while none of them has ended; those
// that wait give up when a search would.
func TestASearchTooManyIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := NewRoster(&table.DB{}), time.Now()
		type answer struct {
			done func()
			err  error
		}
		answers := make(chan answer, searchers+searchersWaiting+1)
		for range cap(answers) {
			go func() {
				done, err := r.admitted(t.Context())
				answers <- answer{done, err}
			}()
		}
		var may []func()
		for got, refused := 0, 0; got < searchers+1; got++ {
			switch a := <-answers; {
			case a.err == nil:
				may = append(may, a.done)
			case engine.ErrorCode(a.err) == "search_busy" && refused == 0:
				refused++
			default:
				t.Fatal(a.err)
			}
		}
		if len(may) != searchers || time.Since(began) != 0 {
			t.Fatalf("%d may run, and it takes %v to refuse one more", len(may), time.Since(began))
		}
		may[0]() // another takes its place
		if a := <-answers; a.err != nil || time.Since(began) != 0 {
			t.Fatal(a.err, time.Since(began))
		}
		for range searchersWaiting - 1 {
			if a := <-answers; engine.ErrorCode(a.err) != "search_busy" || time.Since(began) != searchTime {
				t.Errorf("one that waited: %v after %v", a.err, time.Since(began))
			}
		}
	})
}
