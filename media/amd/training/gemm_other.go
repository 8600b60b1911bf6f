//go:build !amd64

package training

func block(c, a, b *float32, n, ldc, si, sk, ldb int) {
	panic("training: no vectors") // vectors says so
}

const vectors = false
