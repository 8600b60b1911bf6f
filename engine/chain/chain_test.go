package chain_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine/chain"
)

func TestJSONHasOneForm(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, err := chain.AppendCanonical([]byte("x"), []byte(in))
		if err != nil || string(got) != "x"+want {
			t.Errorf("%s: %s %v, want %s", in, got, err, want)
		}
	}
	f(`null`, `null`)
	f(" [ 1 , true,\nfalse ] ", `[1,true,false]`)
	f(`{}`, `{}`)
	f(`[]`, `[]`)
	f(`{"b": 1, "a": {"d": [], "c": "x"}}`, `{"a":{"c":"x","d":[]},"b":1}`)
	f(`{"aa": 1, "b": 2, "a": 3}`, `{"a":3,"aa":1,"b":2}`)
	// The example of RFC 8785, section 3.2.3: keys go by UTF-16 code units.
	f(`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",`+
		`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control",`+
		`"\u00f6":"Latin Small Letter O With Diaeresis"}`,
		"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With "+
			"Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\","+
			"\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}")
	f(`"\u003ca\u0026b\u003e \u2028 \/ \b\f\n\r\t\u000b \" \\"`, "\"<a&b> \u2028 / \\b\\f\\n\\r\\t\\u000b \\\" \\\\\"")
	f(`-0`, `0`)
	f(`-12`, `-12`)
	f(`1.50`, `1.5`)
	f(`1e2`, `100`)
	f(`0.000001`, `0.000001`)
	f(`0.00000012`, `1.2e-7`)
	f(`1e21`, `1e+21`)
	f(`1000000000000000000000`, `1e+21`)
	f(`259200000000000000`, `259200000000000000`)
}

func TestWhatIsNotJSONHasNoForm(t *testing.T) {
	f := func(in string) {
		t.Helper()
		if got, err := chain.AppendCanonical(nil, []byte(in)); err == nil {
			t.Errorf("%q became %s", in, got)
		}
	}
	for _, in := range []string{``, ` `, `{`, `[`, `[1`, `[1,`, `[,]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`,
		`{a:1}`, `1 2`, `01`, `1-2`, `--1`, `+1`, `.5`, `1.`,
		`1e`, `1e999`, `tru`, `"a`, `"\`, `"\x"`, "\"\n\"", "\"\xff\"", `{"a":1,"a":2}`, `{"b":1,"a":1,"b":2}`,
		strings.Repeat("[", 100) + strings.Repeat("]", 100)} {
		f(in)
	}
}

// The canonical form does not depend on the order and spacing in which a value is written, and has
// the same meaning.
func TestTheFormDoesNotDependOnTheWriting(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		kinds := []*rapid.Generator[any]{rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
			// Plus 0: JSON has a negative nought, the form (RFC 8785 §3.2.2.3) has not.
			rapid.Custom(func(t *rapid.T) any { return rapid.Float64().Draw(t, "number") + 0 }),
			rapid.Custom(func(t *rapid.T) any { return float64(rapid.Int32().Draw(t, "whole")) })}
		if depth > 0 {
			kinds = append(kinds,
				rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list") }),
				rapid.Custom(func(t *rapid.T) any { return rapid.MapOfN(rapid.String(), value(depth-1), 0, 40).Draw(t, "object") }))
		}
		return rapid.OneOf(kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		plain, err := json.Marshal(v)
		if err != nil {
			t.Skip("not a value of JSON")
		}
		spaced, _ := json.MarshalIndent(v, " ", "\t")
		a, err := chain.AppendCanonical(nil, plain)
		b, err2 := chain.AppendCanonical(nil, spaced)
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Fatalf("%s %v\n%s %v", a, err, b, err2)
		}
		again, err := chain.AppendCanonical(nil, a)
		if err != nil || !bytes.Equal(a, again) {
			t.Fatalf("%s became %s: %v", a, again, err)
		}
		var back any
		if err := json.Unmarshal(a, &back); err != nil {
			t.Fatal(err)
		}
		if old, _ := json.Marshal(back); !bytes.Equal(old, plain) {
			t.Fatalf("%s became %s", plain, old)
		}
	})
}

func TestTheTextOfAnEventIsCanonicalJSON(t *testing.T) {
	r := chain.Record{Campaign: "cmp_1", Run: 2, Seq: 77, At: time.Date(2026, 11, 21, 9, 8, 7, 123456789,
		time.FixedZone("", 3600)), Type: "attempt.ended", Version: 1, Contact: "0123456789abcdef0123456789abcdef", Leg: 1,
		Data: []byte(`{"pass": 1, "cause": "no_seat"}`)}
	text, err := r.AppendText(nil)
	const want = `{"activity":false,"at":"2026-11-21T08:08:07.123456Z","attempt_id":"","campaign_id":"cmp_1",` +
		`"contact_id":"0123456789abcdef0123456789abcdef","data":{"cause":"no_seat","pass":1},"leg":1,"run":2,` +
		`"seq":77,"type":"attempt.ended","version":1}`
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
	if same, err := chain.AppendCanonical(nil, text); err != nil || !bytes.Equal(same, text) {
		t.Errorf("%s %v", same, err)
	}
	if d := chain.Digest(text); d != chain.Hash(sha256.Sum256([]byte(want))) {
		t.Errorf("the digest is %s", d)
	}
	r.Data = nil
	if _, err := r.AppendText(nil); err == nil {
		t.Error("an event without data has a text")
	}
}

func TestABatchIsLinkedToTheOneBefore(t *testing.T) {
	a, b := chain.Digest([]byte("a")), chain.Digest([]byte("b"))
	first := chain.Link(chain.Hash{}, a[:], nil)
	if want := sha256.Sum256(append(make([]byte, 32), a[:]...)); first != want {
		t.Errorf("%s", first)
	}
	second := chain.Link(first, append(b[:], a[:]...), nil)
	if want := sha256.Sum256(append(append(first[:], b[:]...), a[:]...)); second != want {
		t.Errorf("%s", second)
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,2.5e3,"x\u00e9"],"a":null}`))
	f.Add([]byte(`[-0,1e21,1e-7,123456789012345678,0.1,5e-324,1.7976931348623157e308,100000000000000000000]`))
	f.Add([]byte(`{"\u20ac":1,"\ud83d\ude00":2,"\ufb33":3,"\r":4,"1":5,"\u0080":6,"<&>\u2028":"\b\t\u0000\u007f"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := chain.AppendCanonical(nil, in)
		if err != nil {
			return
		}
		if !json.Valid(in) || !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if again, err := chain.AppendCanonical(nil, out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q became %q: %v", out, again, err)
		}
		// It has the same meaning for a reader, and the same form when written again.
		var was, is any
		if json.Unmarshal(in, &was) != nil || json.Unmarshal(out, &is) != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%q says %v, %q says %v", in, was, out, is)
		}
		if text, err := json.Marshal(was); err == nil {
			if same, err := chain.AppendCanonical(nil, text); err != nil || !bytes.Equal(same, out) {
				t.Fatalf("%q became %q, %q became %q: %v", in, out, text, same, err)
			}
		}
	})
}

// Digests, keys and codes are HMAC-SHA-256 as anybody makes it.
func TestDigestsAreHMAC(t *testing.T) {
	key := chain.RowKey{1, 2, 3}
	keyed := func(key []byte, parts ...string) []byte {
		h := hmac.New(sha256.New, key)
		for _, p := range parts {
			h.Write([]byte(p))
		}
		return h.Sum(nil)
	}
	d := chain.NewDigester(&key)
	row := chain.Row{Part: 7, ID: [16]byte{4, 5}}
	for range 2 { // one after another from the same Digester
		own := d.KeyOf(row)
		if want := keyed(key[:], "row\x00\x07", string(row.ID[:])); !bytes.Equal(own[:], want) {
			t.Errorf("the key of a row is %x, want %x", own, want)
		}
		for _, length := range []int{0, 1, 55, 56, 63, 64, 65, 1000} {
			columns := strings.Repeat("x", length)
			want := keyed(own[:], columns)[:chain.DigestSize]
			e, err := d.Row(row, 9, func(dst []byte) ([]byte, error) { return append(dst, columns...), nil })
			if err != nil || !e.Digest.Equal(want) || e.Row != row || e.Order != 9 {
				t.Errorf("%d bytes: %+v %v", length, e, err)
			}
			if x := chain.RowDigest(&own, []byte(columns)); !x.Equal(want) {
				t.Errorf("%d bytes: %x, want %x", length, x, want)
			}
		}
		code := d.Batch("cmp_1", 3, []byte("digests"), []byte("rows"))
		if want := keyed(key[:], "batch\x00cmp_1\x00", "\x00\x00\x00\x00\x00\x00\x00\x03",
			"\x00\x00\x00\x00\x00\x00\x00\x07", "digestsrows"); !code.Equal(want[:chain.DigestSize]) {
			t.Errorf("the code of a batch is %x, want %x", code, want)
		}
		if id, want := d.Named("+49151"), keyed(key[:], "name\x00+49151"); !bytes.Equal(id[:], want[:len(id)]) {
			t.Errorf("a name is %x, want %x", id, want)
		}
	}
}
