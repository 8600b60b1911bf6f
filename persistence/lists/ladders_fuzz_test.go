package lists

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzRung checks that whatever is read from a stored message is valid, and that a message is read
// back as it was written.
func FuzzRung(f *testing.F) {
	for _, s := range []string{`[1700000000000000,true,"INVITE",0,"",1,"192.0.2.1:5060","SDP",3]`,
		`[0,false,"",503,"x",4294967295,"","",0,"of a later version"]`,
		`[]`, `{}`, `[1,2,3,4,5,6,7,8,9]`, `null`, `[9223372036854775807,true,"",0,"",0,"","",0]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r rung
		if json.Unmarshal(b, &r) != nil {
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		var again rung
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%q is %+v, written %q is %+v: %v", b, r, text, again, err)
		}
	})
}
