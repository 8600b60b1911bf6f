package spine_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/seal"
	"dialler/engine/spine"
)

func key(b byte) seal.Key { return seal.NewKey(bytes.Repeat([]byte{b}, seal.SeedSize)) }

// chainOf is a spine whose key changes once, from key 1 to key 2.
func chainOf(t *testing.T) (list []spine.Entry) {
	t.Helper()
	by, next := key(1), key(2)
	add := func(by seal.Signer, kind spine.Kind, data any) {
		t.Helper()
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		e := spine.Entry{N: int64(len(list)) + 1, At: time.Date(2026, 11, 28, 1, 2, 3, 4000, time.UTC), Kind: kind, Data: raw}
		if len(list) > 0 {
			e.Previous = list[len(list)-1].Hash()
		}
		if err := e.Sign(by); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	wrapped, err := spine.Wrapped(by, [32]byte{7}, [12]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	add(by, spine.KindGenesis, spine.Genesis{Key: string(by.Public().PEM()), RowKey: wrapped})
	add(by, spine.KindStart, spine.Start{Version: "<1> \u00e4"})
	proof, err := spine.Prove(next, list[1].Hash(), by.Public())
	if err != nil {
		t.Fatal(err)
	}
	if wrapped, err = spine.Wrapped(next, [32]byte{7}, [12]byte{2}); err != nil {
		t.Fatal(err)
	}
	add(by, spine.KindKey, spine.Key{Key: string(next.Public().PEM()), RowKey: wrapped, Proof: proof})
	add(next, spine.KindSeal, spine.Seal{Heads: []spine.Head{{Chain: spine.Chain{Campaign: "c", Run: 1}, N: 3}}})
	return list
}

func wrongs(list []spine.Entry) (kinds []string) {
	var f spine.Follower
	for i := range list {
		if w := f.Next(&list[i]); w.Kind != "" {
			kinds = append(kinds, w.Kind)
		}
	}
	return kinds
}

func TestAChangeOfTheSpineIsNamed(t *testing.T) {
	if got := wrongs(chainOf(t)); got != nil {
		t.Fatalf("as it was signed: %v", got)
	}
	f := func(name, want string, change func(list []spine.Entry) []spine.Entry) {
		t.Helper()
		if got := wrongs(change(chainOf(t))); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	f("data", spine.EntryChanged, func(l []spine.Entry) []spine.Entry { l[1].Data = []byte(`{}`); return l })
	f("time", spine.EntryChanged, func(l []spine.Entry) []spine.Entry { l[1].At = l[1].At.Add(1000); return l })
	f("kind", spine.EntryChanged, func(l []spine.Entry) []spine.Entry { l[1].Kind = spine.KindSeal; return l })
	f("removed", spine.EntryRemoved, func(l []spine.Entry) []spine.Entry { return append(l[:1], l[2:]...) })
	f("genesis removed", spine.GenesisMissing, func(l []spine.Entry) []spine.Entry { return l[1:] })
	f("signed anew by another", spine.UnknownSigner, func(l []spine.Entry) []spine.Entry {
		_ = l[1].Sign(key(3))
		return l
	})
	f("the former key goes on", spine.UnknownSigner, func(l []spine.Entry) []spine.Entry {
		_ = l[3].Sign(key(1))
		return l
	})
	f("a new key that did not agree", spine.UnknownSigner, func(l []spine.Entry) []spine.Entry {
		raw, _ := json.Marshal(spine.Key{Key: string(key(4).Public().PEM())})
		l[2].Data = raw
		_ = l[2].Sign(key(1))
		return l
	})
}

func TestAnEntryComesBackFromItsLine(t *testing.T) {
	for _, e := range chainOf(t) {
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		again, err := spine.ParseLine(line)
		if err != nil || again.Hash() != e.Hash() || !bytes.Equal(again.Signature, e.Signature) {
			t.Errorf("%s: %v", line, err)
		}
		if _, err := spine.ParseLine(bytes.Replace(line, []byte("03.000004Z"), []byte("04.000004Z"), 1)); err == nil {
			t.Error("a line whose hash is of another entry is read")
		}
	}
}

func TestTheRowKeyIsTheSameUnderEachKeyInForceAndClosedToOthers(t *testing.T) {
	list := chainOf(t)
	for in, by := range map[int]seal.Key{1: key(1), 3: key(2)} {
		var keys []spine.Entry
		for _, e := range list[:in] {
			if e.Kind == spine.KindGenesis || e.Kind == spine.KindKey {
				keys = append(keys, e)
			}
		}
		ring, err := spine.ReadKeyring(keys)
		if err != nil || ring.Admit(by.Public()) != nil {
			t.Fatal(err)
		}
		if k, err := spine.Unwrapped(by, ring.RowKey); err != nil || k != [32]byte{7} {
			t.Errorf("%v, %v", k, err)
		}
		if _, err := spine.Unwrapped(key(3), ring.RowKey); engine.ErrorCode(err) != "row_key_unreadable" {
			t.Errorf("by another: %v", err)
		}
		if err := ring.Admit(key(3).Public()); engine.ErrorCode(err) != "signing_key_other" {
			t.Error(err)
		}
	}
	list[0].Data = bytes.Replace(list[0].Data, []byte(`"schema":0`), []byte(`"schema":1`), 1)
	if _, err := spine.ReadKeyring(list[:1]); engine.ErrorCode(err) != "spine_broken" {
		t.Errorf("a genesis that was changed: %v", err)
	}
}

func TestOnlyWhatMovedIsSealed(t *testing.T) {
	a, b := spine.Chain{Campaign: "a", Run: 1}, spine.Chain{Run: 20261101}
	known := spine.Heads{}
	now := []spine.Head{{Chain: a, N: 1, Hash: "1"}, {Chain: b, N: 2, Hash: "2"}}
	if got := known.Moved(now); len(got) != 2 || got[0].Chain != b {
		t.Errorf("%v", got)
	}
	for _, h := range now {
		known[h.Chain] = h
	}
	now[0].N, now[0].Hash = 2, "3"
	if got := known.Moved(now); len(got) != 1 || got[0].Chain != a {
		t.Errorf("%v", got)
	}
	raw, _ := json.Marshal(spine.Retention{Chains: []spine.Head{{Chain: b}}})
	known.Seen(&spine.Entry{Kind: spine.KindRetention, Data: raw})
	if got := known.Moved(now); len(got) != 2 {
		t.Errorf("a chain that was dropped and begun again: %v", got)
	}
}
