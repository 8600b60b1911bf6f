// Package memory keeps what a store said for a short while, so that many who ask the
// same are one question. What must hold at once is forgotten by key.
package memory
