// Package memory caches a store's answers for a short while, so that many identical requests make
// one query. What must take effect at once is dropped by key.
package memory
