package training

import "golang.org/x/sys/cpu"

//go:noescape
func block(c, a, b *float32, n, ldc, si, sk, ldb int)

var vectors = cpu.X86.HasAVX2
