// Package amd classifies who answered a call from what is heard.
package amd
