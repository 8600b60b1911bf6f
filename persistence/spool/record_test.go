package spool

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dialler/engine/enginetest"
	"dialler/engine/journal"
)

var update = flag.Bool("update", false, "write the golden record")

// fillAll sets every field that is encoded: fields left out of the JSON are not stored either.
func fillAll(v reflect.Value, n *int) {
	enginetest.Fill(v, n, func(f reflect.StructField) bool { return f.Tag.Get("json") != "-" })
}

// notSpooled are the parts of a write that only the database can accept.
var notSpooled = map[string]bool{"Intent": true, "CampaignRow": true, "Exclusions": true, "Reply": true, "Bulk": true,
	"Retune": true, "Fresh": true, "Schedule": true, "ScheduleBy": true, "Unschedule": true, "Status": true}

// everything is a write in which every field that may be spooled is set.
func everything() (w journal.Write) {
	n := 0
	v := reflect.ValueOf(&w).Elem()
	for i := range v.NumField() {
		if !notSpooled[v.Type().Field(i).Name] {
			fillAll(v.Field(i), &n)
		}
	}
	w.Events[0].Type = journal.AttemptEnded
	w.Events[0].Data.Settings = nil // a campaign's, whose text has its own encoding
	return w
}

func TestEveryFieldOfAWriteSurvives(t *testing.T) {
	w := everything()
	if !w.Spoolable() {
		t.Fatal("the test's write may not be spooled")
	}
	b, err := encode(&w)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	g, x := reflect.ValueOf(got), reflect.ValueOf(w)
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), x.Field(i).Interface()) {
			t.Errorf("%s:\n got %+v\nwant %+v", g.Type().Field(i).Name, g.Field(i), x.Field(i))
		}
	}
}

func TestWhatOnlyTheDatabaseCanAcceptIsNeverWrittenDown(t *testing.T) {
	for name := range notSpooled {
		w := everything()
		n := 0
		field := reflect.ValueOf(&w).Elem().FieldByName(name)
		switch name {
		case "Intent": // contains an error
			w.Intent = &journal.Intent{}
		default:
			fillAll(field, &n)
		}
		if _, err := encode(&w); err == nil {
			t.Errorf("a write with %s is written down", name)
		}
	}
}

func TestARecordOfTheFirstVersionIsStillRead(t *testing.T) {
	path := filepath.Join("testdata", "record-v1.json")
	if *update {
		w := everything()
		b, err := encode(&w)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	// All of it is there: a renamed field would be missing.
	again, err := encode(&w)
	if err != nil {
		t.Fatal(err)
	}
	var was, is map[string]any
	if err := json.Unmarshal(b, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &is); err != nil {
		t.Fatal(err)
	}
	within(t, "", was, is)
}

// within fails if is lacks anything of was.
func within(t *testing.T, path string, was, is any) {
	t.Helper()
	switch was := was.(type) {
	case map[string]any:
		is, _ := is.(map[string]any)
		for k, v := range was {
			within(t, path+"."+k, v, is[k])
		}
	case []any:
		is, _ := is.([]any)
		if len(is) != len(was) {
			t.Errorf("%s: %d elements, want %d", path, len(is), len(was))
			return
		}
		for i := range was {
			within(t, path+"[]", was[i], is[i])
		}
	default:
		if !reflect.DeepEqual(was, is) {
			t.Errorf("%s: %v, was %v", path, is, was)
		}
	}
}

func TestARecordOfANewerVersionIsNotGuessed(t *testing.T) {
	_, err := decode([]byte(`{"v":2,"events":[]}`))
	if err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Error(err)
	}
}

// FuzzRecords looks for records in arbitrary bytes, without a disk: those found are whole and
// contiguous, and reading one returns a write that may be spooled, or an error.
func FuzzRecords(f *testing.F) {
	w := everything()
	b, err := encode(&w)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, []byte(`{"v":1}`))
	f.Add([]byte(`{"v":1,"events":[{"Type":"attempt.ended"}]}`), []byte{0})
	f.Add([]byte(`{"v":1,"attempts":[{"Legs":[{}]}],"contacts":[{}]}`), []byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, payload, tail []byte) {
		if len(payload) == 0 || len(payload)+len(tail) > 1<<16 {
			return
		}
		l := &lane{f: &memory{make([]byte, 1<<17)}, room: 1 << 17, generation: 7, stats: &counters{}, head: headerSize,
			tail: headerSize}
		if n, err := l.append([][]byte{payload}, when); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		begin := l.tail
		if _, err := l.f.WriteAt(tail, begin); err != nil {
			t.Fatal(err)
		}
		if _, err := l.find(); err != nil {
			t.Fatal(err)
		}
		if len(l.entries) == 0 || l.tail < begin || l.tail > begin+int64(len(tail))+8 {
			t.Fatalf("%d records up to %d, the first up to %d", len(l.entries), l.tail, begin)
		}
		got, _, ok, err := l.at(headerSize)
		if !ok || err != nil || string(got[frameSize:]) != string(payload) {
			t.Fatalf("%q, %v, %v", got, ok, err)
		}
		w, err := decode(payload)
		if err != nil {
			return
		}
		if again, err := encode(&w); err == nil {
			back, err := decode(again)
			if err != nil {
				t.Fatal(err)
			}
			if third, err := encode(&back); err != nil || string(third) != string(again) {
				t.Fatalf("%s, then %s, %v", again, third, err)
			}
		}
	})
}

// FuzzFile opens files with arbitrary records: nothing panics, every record found is whole, and
// after another write it is found again.
func FuzzFile(f *testing.F) {
	l := &lane{generation: 1}
	frame := func(payload string) []byte {
		b := make([]byte, sizeOf(int64(len(payload))))
		r := b[:frameSize+len(payload)]
		r[0] = byte(len(payload))
		copy(r[frameSize:], payload)
		s := l.sum(r)
		r[4], r[5], r[6], r[7] = byte(s), byte(s>>8), byte(s>>16), byte(s>>24)
		return b
	}
	f.Add(frame(`{"v":1}`), false)
	f.Add(append(frame(`{"v":1,"epoch":4}`), frame(`{"v":9}`)...), false)
	f.Add(append(frame(`{"v":1}`), 0xff, 0xff, 0xff, 0x7f, 1), false)
	f.Add([]byte{1, 0, 0, 0}, true)
	f.Fuzz(func(t *testing.T, body []byte, mark bool) {
		cfg := config(t.TempDir())
		if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		own := &lane{generation: 1, owner: owner(ours), dirty: mark}
		file := append(append(own.header(), make([]byte, headerSize-48)...), body...)
		if len(file) > MinLane {
			return
		}
		path := filepath.Join(cfg.Dir, "lane-0.spool")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		found := len(s.lanes[0].entries)
		var size int64
		for _, e := range s.lanes[0].entries {
			size += e.size
		}
		if size > int64(len(body)+7) {
			t.Fatalf("%d bytes of records in %d", size, len(body))
		}
		if n, err := s.Append(0, writes(0, 1)); err != nil || n != 1 && size+2048 < MinLane {
			t.Fatalf("took %d: %v", n, err)
		}
		taken := len(s.lanes[0].entries) - found
		_ = s.Close()
		if s, err = Open(cfg); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		if n := len(s.lanes[0].entries); n != found+taken {
			t.Fatalf("%d records, then %d and one more", found, n)
		}
		got := 0
		err = s.Replay(100, func(group []journal.Write) (int, error) { got += len(group); return 0, nil })
		if err == nil && (got != found+taken || s.Stats().Records != 0) {
			t.Fatalf("replayed %d of %d", got, found+taken)
		}
	})
}
