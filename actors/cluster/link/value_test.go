package link

import (
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/enginetest"
)

func TestAnErrorCrossesTheWireWithWhatHoldsNow(t *testing.T) {
	in := engine.Error{
		Kind:       engine.KindConflict,
		Code:       "c",
		Detail:     "d",
		RetryAfter: time.Second,
		Until:      time.Unix(5, 0).UTC(),
		Fields:     []engine.FieldError{{Field: "f", Code: "c", Message: "m"}},
		Current:    map[string]any{"name": "x"},
	}
	var out engine.Error
	if err := Decode(Encode(&in), &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("sent %+v, got %+v (%v)", in, out, err)
	}
}

func TestAFieldThatOneNodeDoesNotKnowIsPassedOver(t *testing.T) {
	type part struct{ X, Y int }
	type later struct {
		Known string
		New   map[string]part
		Parts []part
	}
	type earlier struct {
		Known string
		Parts []struct{ X int }
		Gone  *int
	}
	b := Encode(&later{Known: "k", New: map[string]part{"a": {1, 2}}, Parts: []part{{3, 4}}})
	var out earlier
	if err := Decode(b, &out); err != nil ||
		!reflect.DeepEqual(out, earlier{Known: "k", Parts: []struct{ X int }{{3}}}) {
		t.Errorf("got %+v (%v)", out, err)
	}
}

func TestAValueIsWhatWasSentOrNothing(t *testing.T) {
	in := enginetest.Filled[engine.LegEvent]()
	b := Encode(&in)
	for cut := range b {
		var out engine.LegEvent
		if Decode(b[:cut], &out) == nil {
			t.Fatalf("%d of %d bytes were taken for all", cut, len(b))
		}
	}
	var out engine.LegEvent
	if err := Decode(b, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("sent %+v, got %+v (%v)", in, out, err)
	}
}
