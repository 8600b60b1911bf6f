//go:build !amd64

package training

const noVectors = "training: no vectors" // vectors says so

func block(c, a, b *float32, n, ldc int) { panic(noVectors) }

func gatesOf(gate, late, before, after, bias *float32, units int) { panic(noVectors) }

func slopesOf(gate, late, before, after, dgate, dlate, dbefore *float32, units int) { panic(noVectors) }

const vectors = false
