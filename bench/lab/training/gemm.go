package training

// matrix is a view of numbers: rows of cols, ld apart.
type matrix struct {
	rows, cols, ld int
	v              []float32
}

func newMatrix(rows, cols int) matrix {
	return matrix{rows, cols, cols, make([]float32, rows*cols)}
}

// part returns n rows from first on.
func (m matrix) part(first, n int) matrix {
	return matrix{n, m.cols, m.ld, m.v[first*m.ld : (first+n)*m.ld]}
}

func (m matrix) row(i int) []float32 { return m.v[i*m.ld : i*m.ld+m.cols] }

const (
	tileRows = 4
	tileCols = 16
	// deep is how many products are added, for high rows, before the next tile: their inputs then
	// stay in the nearest cache.
	deep = 128
	high = 64
)

// panels is a matrix prepared as a right-hand factor, in stripes of tileCols columns, each stored
// row by row.
type panels struct {
	rows, cols int
	v          []float32
}

func newPanels(rows, cols int) panels { return panels{rows, cols, make([]float32, rows*cols)} }

// of copies m. Its columns are a multiple of tileCols.
//
//go:norace
func (p *panels) of(m matrix) {
	p.rows, p.cols = m.rows, m.cols
	for k := range m.rows {
		row := m.row(k)
		for j := 0; j < len(row); j += tileCols {
			copy(p.v[j*m.rows+k*tileCols:][:tileCols], row[j:j+tileCols])
		}
	}
}

// product multiplies matrices and keeps the buffers needed for that.
type product struct {
	left  []float32 // rows of a, tileRows at a time, stored by column
	right panels    // rows of b
}

func newProduct(rows, cols int) *product {
	return &product{left: make([]float32, (max(rows, high)+tileRows)*deep), right: newPanels(deep, cols)}
}

// times adds a·b to c. Each number of c is summed in the same order, product by product, with or
// without vector instructions, on any machine: so training gives the same model everywhere.
func (p *product) times(c, a matrix, b *panels) {
	for i := 0; i < a.rows; i += high {
		rows := min(high, a.rows-i)
		for k := 0; k < a.cols; k += deep {
			n := min(deep, a.cols-k)
			p.pack(rows, n, a.v[i*a.ld+k:], a.ld, 1)
			for j := 0; j < c.cols; j += tileCols {
				p.stripe(c.part(i, rows), j, b.v[j*b.rows+k*tileCols:], n)
			}
		}
	}
}

// across adds the transpose of a, times b, to c.
func (p *product) across(c, a, b matrix) {
	for k := 0; k < a.rows; k += deep {
		n := min(deep, a.rows-k)
		p.right.of(b.part(k, n))
		p.pack(a.cols, n, a.v[k*a.ld:], 1, a.ld)
		for j := 0; j < c.cols; j += tileCols {
			p.stripe(c, j, p.right.v[j*n:], n)
		}
	}
}

// pack copies n columns of rows into tiles; down and right are the distances
// in a, of which one is 1.
//
//go:norace
func (p *product) pack(rows, n int, a []float32, down, right int) {
	for i := 0; i < rows; i += tileRows {
		tile := p.left[i*n:][:tileRows*n]
		switch {
		case i+tileRows > rows:
			for r := range tileRows {
				for k := range n {
					tile[k*tileRows+r] = 0
					if i+r < rows {
						tile[k*tileRows+r] = a[(i+r)*down+k*right]
					}
				}
			}
		case down == 1:
			for k := range n {
				*(*[tileRows]float32)(tile[k*tileRows:]) = [tileRows]float32(a[i+k*right:])
			}
		case right == 1:
			first, second := a[i*down:][:n], a[(i+1)*down:][:n]
			third, fourth := a[(i+2)*down:][:n], a[(i+3)*down:][:n]
			for k := range n {
				*(*[tileRows]float32)(tile[k*tileRows:]) = [tileRows]float32{first[k], second[k], third[k], fourth[k]}
			}
		}
	}
}

// stripe adds to tileCols columns of c the product of n columns of a, packed, and n rows of a
// panel.
func (p *product) stripe(c matrix, j int, panel []float32, n int) {
	whole := 0
	if vectors {
		whole = c.rows / tileRows * tileRows
		for i := 0; i < whole; i += tileRows {
			block(&c.v[i*c.ld+j], &p.left[i*n], &panel[0], n, 4*c.ld)
		}
	}
	for i := whole; i < c.rows; i++ {
		row := c.v[i*c.ld+j:][:tileCols]
		tile := p.left[i/tileRows*tileRows*n+i%tileRows:]
		for k := range n {
			f, of := tile[k*tileRows], panel[k*tileCols:][:tileCols]
			for x := range row {
				row[x] += float32(f * of[x]) // rounded: must not be fused into one operation
			}
		}
	}
}
