package amd

import "golang.org/x/sys/cpu"

// dots gives the products of count rows, n long, a multiple of eight, with x.
//
//go:noescape
func dots(to, rows, x *float32, count, n int)

var vectors = cpu.X86.HasAVX
