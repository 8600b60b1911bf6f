package training

// matrix is a view of numbers: rows of cols, ld apart.
type matrix struct {
	rows, cols, ld int
	v              []float32
}

func newMatrix(rows, cols int) matrix {
	return matrix{rows, cols, cols, make([]float32, rows*cols)}
}

// part gives n rows from the first.
func (m matrix) part(first, n int) matrix {
	return matrix{n, m.cols, m.ld, m.v[first*m.ld : (first+n)*m.ld]}
}

func (m matrix) row(i int) []float32 { return m.v[i*m.ld : i*m.ld+m.cols] }

// multiply adds a·b to c; with across, the transpose of a. Each number of c is
// summed in the same order, product by product, with vectors or without, on
// any machine: training gives the same model everywhere. The columns of c are
// a multiple of 16.
func multiply(c, a, b matrix, across bool) {
	si, sk, n := a.ld, 1, a.cols
	if across {
		si, sk, n = 1, a.ld, a.rows
	}
	if n == 0 || c.rows == 0 {
		return
	}
	whole := 0
	if vectors {
		whole = c.rows / 4 * 4
	}
	for i := 0; i < whole; i += 4 {
		for j := 0; j < c.cols; j += 16 {
			block(&c.v[i*c.ld+j], &a.v[i*si], &b.v[j], n, 4*c.ld, 4*si, 4*sk, 4*b.ld)
		}
	}
	for i := whole; i < c.rows; i++ {
		row := c.row(i)
		for k := range n {
			f, of := a.v[i*si+k*sk], b.row(k)[:len(row)]
			for j := range row {
				row[j] += float32(f * of[j]) // rounded: never fused into one operation
			}
		}
	}
}
