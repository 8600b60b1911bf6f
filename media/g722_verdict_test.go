package media

import (
	"path/filepath"
	"testing"

	"dialler/bench/corpus"
	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/codec"
	"dialler/media/g711"
)

// TestAVerdictIsTheSameOverG722 checks it for greetings heard on a G.722 call.
func TestAVerdictIsTheSameOverG722(t *testing.T) {
	folder, err := corpus.Load(filepath.Join("amd", "testdata", "greetings"))
	if err != nil {
		t.Fatal(err)
	}
	verdict := func(law []byte) engine.Verdict {
		d := amd.New(amd.Config{})
		for at := 0; at+codec.FrameBytes <= len(law); at += codec.FrameBytes {
			var heard [codec.FrameBytes]int16
			for i := range heard {
				heard[i] = codec.UlawToPCM[law[at+i]]
			}
			if dec, ok := d.Feed(heard[:]); ok {
				return dec.Verdict
			}
		}
		return ""
	}
	same := 0
	for _, rec := range folder.Recordings {
		narrow := make([]byte, len(rec.Samples)/codec.FrameBytes*codec.FrameBytes)
		for i := range narrow {
			narrow[i] = g711.ToUlaw(rec.Samples[i])
		}
		over, ours := codec.NewWideband(), codec.NewWideband()
		var wide []byte
		for at := 0; at < len(narrow); at += codec.FrameBytes {
			b := append([]byte(nil), narrow[at:at+codec.FrameBytes]...)
			over.Encode(b)
			wide = append(wide, ours.Decode(b)...)
		}
		if verdict(narrow) == verdict(wide) {
			same++
		} else {
			t.Logf("%s: %s, over G.722 %s", rec.File, verdict(narrow), verdict(wide))
		}
	}
	t.Logf("%d of %d", same, len(folder.Recordings))
	if same*100 < 80*len(folder.Recordings) {
		t.Errorf("only %d of %d verdicts are the same", same, len(folder.Recordings))
	}
}
