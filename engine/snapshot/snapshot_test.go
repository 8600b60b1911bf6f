package snapshot

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

type (
	sample struct {
		On      bool
		Small   int8
		Big     uint64
		Share   float64
		Text    string
		At      time.Time
		Until   *time.Time
		List    []string
		Bytes   []byte
		Seed    [4]byte
		ByName  map[string]*leaf
		ByPlace map[place]struct{}
		Any     any
		Err     error
		hidden
		cache map[string]int `snapshot:"-"`
	}
	leaf   struct{ N int }
	empty  struct{}
	place  struct{ x, y int }
	hidden struct{ words []string }
)

func (s *sample) Parts() []any { return []any{&s.hidden} }
func (h *hidden) Parts() []any { return []any{&h.words} }
func (p *place) Parts() []any  { return []any{&p.x, &p.y} }

func full() *sample {
	at := time.Date(2030, 5, 6, 7, 8, 9, 123456789, time.UTC)
	return &sample{On: true, Small: -3, Big: math.MaxUint64, Share: math.Nextafter(1, 2), Text: "ä\x00b",
		At: at, Until: &at, List: []string{"a", ""}, Bytes: []byte{0, 255}, Seed: [4]byte{1, 2, 3, 4},
		ByName:  map[string]*leaf{"one": {1}, "none": nil, "two": {2}, "": {3}},
		ByPlace: map[place]struct{}{{1, 2}: {}, {-1, 0}: {}}, Any: &leaf{7},
		Err: engine.Conflict("held", "it is held"), hidden: hidden{[]string{"x"}}}
}

func samples() *Codec { return Of(sample{}, &sample{}, &leaf{}, &empty{}, leaf{}) }

func written(t *testing.T, v *sample) []byte {
	t.Helper()
	b, err := samples().Write(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for name, change := range map[string]func(*sample){
		"full":                   func(*sample) {},
		"nothing":                func(s *sample) { *s = sample{} },
		"empty is not nil":       func(s *sample) { s.List, s.ByName, s.Bytes = []string{}, map[string]*leaf{}, []byte{} },
		"a value of a variant":   func(s *sample) { s.Any = leaf{8} },
		"a type without fields":  func(s *sample) { s.Any = &empty{} },
		"a pointer that is nil":  func(s *sample) { s.Any = (*leaf)(nil) },
		"a pointer to the zero":  func(s *sample) { s.Until = &time.Time{} },
		"a share that is no one": func(s *sample) { s.Share = math.Inf(-1) },
	} {
		v := full()
		change(v)
		got := full() // none of it stays
		if err := samples().Read(written(t, v), got); err != nil ||
			!reflect.DeepEqual(v, got) { //nolint:govet // an error of the sample is a value
			t.Errorf("%s: %v\n%+v\n%+v", name, err, v, got)
		}
	}
}

func TestWhatIsOnlyOfUseDuringACallIsNotWritten(t *testing.T) {
	v := full()
	b := written(t, v)
	v.cache = map[string]int{"a": 1}
	if string(written(t, v)) != string(b) {
		t.Error("it changes the bytes")
	}
	if err := samples().Read(b, v); err != nil || v.cache["a"] != 1 {
		t.Errorf("%v, %v", v.cache, err)
	}
}

func TestTheSameValueGivesTheSameBytes(t *testing.T) {
	b := written(t, full())
	for range 50 {
		if string(written(t, full())) != string(b) {
			t.Fatal("they differ")
		}
	}
}

func TestAnErrorIsReadBackWithItsTextAndItsCode(t *testing.T) {
	cause := engine.NotFound("gone", "it is gone")
	for _, err := range []error{cause, fmt.Errorf("read: %w", cause), errors.New("no route")} {
		var got sample
		if err := samples().Read(written(t, &sample{Err: err}), &got); err != nil {
			t.Fatal(err)
		}
		if got.Err.Error() != err.Error() || errors.Is(got.Err, cause) != errors.Is(err, cause) ||
			engine.ErrorCode(got.Err) != engine.ErrorCode(err) {
			t.Errorf("%v becomes %v", err, got.Err)
		}
	}
}

type (
	private struct{ n int }    //nolint:unused // refused for it
	forgets struct{ a, b int } //nolint:unused // likewise
	doubles struct{ a, b int } //nolint:unused // likewise
	calls   struct{ F func() }
	sends   struct{ C []chan int }
	deep    struct{ M map[string][]*private }
	oneWay  struct{ N int }
)

func (f *forgets) Parts() []any               { return []any{&f.a} }
func (d *doubles) Parts() []any               { return []any{&d.a, &d.a} }
func (oneWay) MarshalBinary() ([]byte, error) { return nil, nil }

func TestATypeThatCannotBeWrittenWholeIsRefused(t *testing.T) {
	for _, v := range []any{private{}, forgets{}, doubles{}, calls{}, sends{}, deep{}, struct{ O oneWay }{}} {
		c := Of(v)
		p := reflect.New(reflect.TypeOf(v))
		if _, err := c.Write(p.Interface()); c.Problem() == nil || err == nil || c.Read(nil, p.Interface()) == nil {
			t.Errorf("%T is written", v)
		}
	}
	if c := Of(sample{}, &calls{}); c.Problem() == nil {
		t.Error("a variant with a function is written")
	}
	if c := Of(sample{}, &leaf{}, &leaf{}); c.Problem() == nil {
		t.Error("a variant is there twice")
	}
}

func TestWhatIsNoneOfTheVariantsIsRefused(t *testing.T) {
	if _, err := samples().Write(&sample{Any: 5}); err == nil || !strings.Contains(err.Error(), "int") {
		t.Error(err)
	}
	if _, err := samples().Write(leaf{}); err == nil {
		t.Error("another type is written")
	}
	if err := samples().Read(written(t, full()), &leaf{}); err == nil {
		t.Error("another type is read")
	}
}

func TestBytesOfOtherTypesAreRefused(t *testing.T) {
	if err := Of(sample{}, &leaf{}).Read(written(t, full()), &sample{}); !errors.Is(err, errOther) {
		t.Error(err)
	}
}

func TestBytesThatAreNotWholeAreRefused(t *testing.T) {
	b := written(t, full())
	for n := range b {
		if samples().Read(b[:n], &sample{}) == nil {
			t.Errorf("%d of %d bytes are enough", n, len(b))
		}
	}
	if samples().Read(append(b, 0), &sample{}) == nil {
		t.Error("one byte too many is none")
	}
}

func TestBytesThatWereChangedAreReadOrRefusedWithoutAPanic(t *testing.T) {
	b := written(t, full())
	for i := range b {
		for _, x := range []byte{0, 1, 127, 255} {
			changed := append([]byte(nil), b...)
			changed[i] = x
			_ = samples().Read(changed, &sample{})
		}
	}
}

// What is exported, or among the Parts, counts for a digest; how often it was taken does not.
func TestADigestSeesEveryDifference(t *testing.T) {
	d := NewDigest()
	of := func(list ...any) uint64 {
		d.Begin(0)
		for _, v := range list {
			d.Add(v)
		}
		return d.Sum()
	}
	whole := of(full(), leaf{1})
	if of(full(), leaf{1}) != whole || NewDigest().Sum() == whole {
		t.Fatal("the same gives another sum")
	}
	sums := map[uint64]string{whole: "full"}
	see := func(name string, sum uint64) {
		if other, there := sums[sum]; there {
			t.Errorf("%s and %s are the same", name, other)
		}
		sums[sum] = name
	}
	see("another order", of(leaf{1}, full()))
	see("one more", of(full(), leaf{1}, nil))
	for name, change := range map[string]func(*sample){
		"On": func(s *sample) { s.On = false }, "Small": func(s *sample) { s.Small++ }, "Big": func(s *sample) { s.Big-- },
		"Share": func(s *sample) { s.Share = 1 }, "Text": func(s *sample) { s.Text += "b" },
		"At":    func(s *sample) { s.At = s.At.Add(1) },
		"Until": func(s *sample) { s.Until = nil }, "List": func(s *sample) { s.List = s.List[:1] },
		"no list": func(s *sample) { s.List = nil }, "an empty list": func(s *sample) { s.List = []string{} },
		"Bytes": func(s *sample) { s.Bytes[0] = 1 }, "Seed": func(s *sample) { s.Seed[3] = 5 },
		"ByName": func(s *sample) { s.ByName["two"].N = 3 }, "ByPlace": func(s *sample) { delete(s.ByPlace, place{1, 2}) },
		"Any": func(s *sample) { s.Any = leaf{7} }, "Err": func(s *sample) { s.Err = engine.Conflict("held", "it is not") },
		"hidden": func(s *sample) { s.words[0] = "y" },
	} {
		v := full()
		change(v)
		see(name, of(v, leaf{1}))
	}
	v := full()
	v.Err = &Failure{v.Err.Error(), engine.Conflict("held", "it is held")}
	if of(v, leaf{1}) != whole {
		t.Error("an error that is read back is another")
	}
	if of(&calls{}) != of(&calls{F: func() {}}) || of(&calls{}) == of(&sends{}) {
		t.Error("a function counts, or a type does not")
	}
}

// A stream refers to a text that was there lately, and writes one again that was there long ago; what is
// read is what was written.
func TestATextThatIsWrittenAgainIsShort(t *testing.T) {
	near := time.Date(2030, 5, 6, 7, 8, 9, 0, time.UTC)
	w, r := samples().Writer(near), samples().Reader(near, nil)
	size := func(text string) int {
		b, err := w.Variant(nil, &sample{Text: text})
		r.Give(b)
		if got, _ := r.Variant().(*sample); err != nil || r.Err() != nil || r.Left() > 0 || got.Text != text {
			t.Fatalf("%q becomes %+v: %v, %v", text, got, err, r.Err())
		}
		return len(b)
	}
	if whole, again := size("the first of the texts"), size("the first of the texts"); again > whole-20 {
		t.Errorf("%d bytes, and again %d", whole, again)
	}
	for _, n := range []int{leastWord - 1, leastWord, mostWord, mostWord + 1, 1000} {
		size(strings.Repeat("x", n))
		size(strings.Repeat("x", n))
	}
	for i := range 3 * mostWords { // some of them again and again
		for _, n := range []int{i, i / 2, i % 7} {
			size(fmt.Sprint("text ", n))
		}
	}
	if whole := size("the first of the texts"); whole < 20 {
		t.Errorf("a text that is no longer there takes %d bytes", whole)
	}
}

// settled is a type whose values never change once they are made.
type settled struct {
	text    string
	written *int
}

func (s *settled) MarshalBinary() ([]byte, error) {
	*s.written++
	return []byte(s.text), nil
}

func (s *settled) UnmarshalBinary(b []byte) error {
	s.text = string(b)
	return nil
}

func TestADigestWritesAnUnchangingValueOnce(t *testing.T) {
	d, written := NewDigest(&settled{}), 0
	of := func(s *settled) uint64 {
		d.Begin(0)
		d.Add(struct{ To *settled }{s})
		d.Add(s)
		return d.Sum()
	}
	one, two := &settled{"one", &written}, &settled{"two", &written}
	first := of(one)
	if of(one) != first || written != 1 {
		t.Errorf("it is written %d times", written)
	}
	if of(two) == first || of(&settled{"one", &written}) != first {
		t.Error("it is not what it is that counts")
	}
}
