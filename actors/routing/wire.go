package routing

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// A time arrives with its zone: replies are shown in UTC, and stay so.
func init() {
	msgpack.Register(time.Time{},
		func(e *msgpack.Encoder, v reflect.Value) error {
			b, err := v.Interface().(time.Time).MarshalBinary()
			if err != nil {
				return err
			}
			return e.EncodeBytes(b)
		},
		func(d *msgpack.Decoder, v reflect.Value) error {
			b, err := d.DecodeBytes()
			if err != nil {
				return err
			}
			return v.Addr().Interface().(*time.Time).UnmarshalBinary(b)
		})
}

// none is the reply of what has none.
type none struct{}

func encode(v any) ([]byte, error) {
	b, err := msgpack.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("routing: %T is not encoded: %w", v, err)
	}
	return b, nil
}

// decode leaves fields alone that it does not know: nodes of two versions work
// together while one is replaced by the other.
func decode(b []byte, into any) error {
	if err := msgpack.NewDecoder(bytes.NewReader(b)).Decode(into); err != nil {
		return fmt.Errorf("routing: %T is not decoded: %w", into, err)
	}
	return nil
}
