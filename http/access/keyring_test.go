package access

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine"
)

// A lookup that was in progress while the key was changed must not bring the old key back into the
// cache.
func TestALookUpUnderWayIsNotRememberedAfterAChange(t *testing.T) {
	full, key := NewAPIKey("x", noon)
	store := &slowKeys{key: key, entered: make(chan struct{}), leave: make(chan struct{})}
	ring := newKeyring(store, time.Second, func() time.Time { return noon })
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = ring.check(context.Background(), []byte(full)) })
	<-store.entered
	ring.forget()
	close(store.leave)
	wait.Wait()
	if len(ring.entries) != 0 {
		t.Error("the old key is remembered")
	}
}

type slowKeys struct {
	allKeys
	key            engine.APIKey
	entered, leave chan struct{}
}

func (s *slowKeys) KeyByHash(context.Context, [32]byte) (engine.APIKey, bool, error) {
	close(s.entered)
	<-s.leave
	return s.key, true, nil
}

func TestUnknownKeysFillNoMoreMemoryThanTheirCap(t *testing.T) {
	k := newKeyring(noKeys{}, time.Hour, func() time.Time { return noon })
	ask := func(n int) {
		t.Helper()
		if _, err := k.check(t.Context(), fmt.Appendf(nil, "vx_%032d", n)); err == nil {
			t.Fatal("an unknown key was taken")
		}
	}
	for n := range 10_000 {
		ask(n)
	}
	if len(k.entries) != 10_000 {
		t.Errorf("%d remembered of 10,000", len(k.entries))
	}
	if ask(10_000); len(k.entries) != 1 {
		t.Errorf("%d remembered beyond the cap", len(k.entries))
	}
}

// noon is when tests begin.
var noon = time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)

// noKeys has no key.
type noKeys struct{ allKeys }

// allKeys has the methods that a test does not call.
type allKeys interface{ Keys }

func (noKeys) KeyByHash(context.Context, [32]byte) (k engine.APIKey, found bool, err error) {
	return k, false, nil
}

// otherKeys returns a key for any query, as a faulty lookup might.
type otherKeys struct {
	allKeys
	key engine.APIKey
}

func (s otherKeys) KeyByHash(context.Context, [32]byte) (engine.APIKey, bool, error) {
	return s.key, true, nil
}

func TestAKeyOpensOnlyIfTheDigestOfWhatWasSentIsTheOneThatIsStored(t *testing.T) {
	full, key := NewAPIKey("x", noon)
	other, _ := NewAPIKey("y", noon)
	for sent, good := range map[string]bool{full: true, other: false} {
		k := newKeyring(otherKeys{key: key}, time.Second, func() time.Time { return noon })
		if got, err := k.check(t.Context(), []byte(sent)); (err == nil) != good || good && got.ID != key.ID {
			t.Errorf("right %v: %v, %v", good, got, err)
		}
	}
}

// The time of a comparison must not reveal how much of it was right. No test can measure that
// reliably, so the source is examined: the given text is checked for its form and hashed, and its
// digest is compared with the stored one only by crypto/subtle. A map and an index find the stored
// digest by the given one; their timing depends on a digest, from which nobody can derive a key.
func TestKeysAreComparedByTheirDigestsInConstantTime(t *testing.T) {
	source, err := os.ReadFile("keyring.go")
	if err != nil {
		t.Fatal(err)
	}
	if wrong := leaks(t, string(source)); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
	for _, stored := range []string{"k.Hash", "k.OldHash"} {
		compared := "subtle.ConstantTimeCompare(" + stored + "[:], hash[:]) == 1"
		if !strings.Contains(string(source), compared) {
			t.Errorf("%s is not compared", stored)
		}
		for _, bad := range []string{
			stored + " == hash", "bytes.Equal(" + stored + "[:], hash[:])", "k.Active",
			"string(given) == k.Masked || " + compared,
			"subtle.ConstantTimeCompare(hash[:], hash[:]) == 1",
		} {
			if wrong := leaks(t, strings.Replace(string(source), compared, bad, 1)); len(wrong) == 0 {
				t.Errorf("%s is taken for a comparison in constant time", bad)
			}
		}
	}
}

// leaks lists operations of a keyring's source, on the given text, its digest and a stored digest,
// whose time could reveal something.
func leaks(t *testing.T, source string) (wrong []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	// The functions that may get the given text, its digest and a stored one; no other values have
	// these names.
	takes := map[string][]string{
		"given":   {"wellFormedKey", "sha256.Sum256"},
		"hash":    {"k.lookup", "k.store.KeyByHash", "validHash", "subtle.ConstantTimeCompare"},
		"Hash":    {"subtle.ConstantTimeCompare"},
		"OldHash": {"subtle.ConstantTimeCompare"},
	}
	compared := map[string]bool{}
	var path []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		call, _ := n.(*ast.CallExpr)
		if call != nil {
			compared[types.ExprString(call)] = true
		}
		name, ok := n.(*ast.Ident)
		if !ok || takes[name.Name] == nil {
			return true
		}
		for i := len(path) - 2; i >= 0; i-- {
			switch p := path[i].(type) {
			case *ast.CallExpr:
				if f := types.ExprString(p.Fun); !slices.Contains(takes[name.Name], f) {
					wrong = append(wrong, f+" is given "+name.Name)
				}
				return true
			case *ast.BinaryExpr:
				if types.ExprString(p.Y) == "nil" {
					return true // whether there is one
				}
				wrong = append(wrong, types.ExprString(p)+" compares "+name.Name)
				return true
			case *ast.AssignStmt, *ast.Field, *ast.KeyValueExpr, *ast.IndexExpr:
				return true // it is named, or stored in the map
			}
		}
		return true
	})
	for _, stored := range []string{"k.Hash", "k.OldHash"} {
		if !compared["subtle.ConstantTimeCompare("+stored+"[:], hash[:])"] {
			wrong = append(wrong, stored+" is not compared with the digest that was sent")
		}
	}
	return wrong
}
