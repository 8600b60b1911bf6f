// Package mutants checks whether the tests would notice a changed rule. It makes mutants of the
// rulebook, one small change each, and runs the tests of the package on every one:
//
//   - every row of every transition table: deleted, led to another state, its
//     guard dropped or negated, its action dropped, made to do nothing, an
//     ignored event made to act;
//   - every row of the table of final responses (engine/disposition): another
//     outcome, another retry class, a flag flipped, a code in another row;
//   - every limit of engine/… and http: constants one more and one less (twice
//     and half for durations and fractions), and every comparison of order with
//     and without its equality.
//
// A mutant is killed when a test fails or does not end in time. One that does not compile, or whose
// table is refused at construction, is counted separately. Tests that compare a table with a
// picture of itself (golden files, and that every row is reached) would kill each mutant of a table
// without knowing its meaning, so two figures are given: killed by any test, and killed by
// behaviour alone.
//
// Excluded are the simulator, the machinery of the tables, and the numbers that tune the forecast
// of pacing: they are measured, not prescribed.
//
// The tree is never changed: go test reads the changed file through -overlay. The rows of the
// tables are changed when the program starts, in one binary per package (schema.go.txt), so that
// each row made by a loop is a mutant of its own.
//
// A row that only repeats a later row is equivalent by itself. Any other mutant with the same
// meaning as the original is listed in equivalent.txt with the reason; an entry that matches
// nothing, or whose mutant is killed, is an error.
package mutants
