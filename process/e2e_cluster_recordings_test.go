package process

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// wavs returns the complete recordings under a folder.
func wavs(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".wav") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A recording can be heard through any node; while the node that has it is unavailable, every other
// one names that node.
func TestARecordingIsHeardThroughEveryNode(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 6*time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)}})
	id := w.campaignOf("two", map[string]any{"recording": "on", "always_on": true})
	w.insist(id, "start")
	w.trigger(id, newNumber(), nil)
	w.trigger(id, newNumber(), nil)
	eventually(t, "the other node has called and recorded", func() bool {
		return w.detail(id).Counters.Completed == 2 && len(wavs(t, other.recordings)) == 2
	})
	eventually(t, "the database knows of both", func() bool { return w.rows("recordings") == 2 })
	file, unwanted := wavs(t, other.recordings)[0], wavs(t, other.recordings)[1]
	want, err := os.ReadFile(file)
	if err != nil || len(want) < 64_000 { // more than one part
		t.Fatalf("%d bytes: %v", len(want), err)
	}
	url := func(file string) string {
		return "/api/v1/recordings/" + strings.TrimSuffix(filepath.Base(file), ".wav")
	}
	path := url(file)
	others := []engine.CampaignID{w.campaignOf("one", nil)}
	for _, node := range []*world{w, w.at(other.api)} {
		if got := node.crm("GET", path, nil).expect(200); !bytes.Equal(got.body, want) {
			t.Errorf("%d bytes came, not the %d of the file", len(got.body), len(want))
		}
		for asked, part := range map[string][]byte{
			"bytes=58-157":    want[58:158],
			"bytes=100-70000": want[100:min(70_001, len(want))],
			"bytes=-10":       want[len(want)-10:],
		} {
			got := node.send("GET", path, nil, "Authorization", "Bearer "+w.admin, "Range", asked).expect(206)
			if !bytes.Equal(got.body, part) {
				t.Errorf("%s: %d other bytes", asked, len(got.body))
			}
		}
		node.send("GET", path, nil, "Authorization", "Bearer "+w.admin, "Range", "bytes=99999999-").expect(416)
		foreign := w.newKey(map[string]any{"name": "k", "scopes": []string{"read"}, "campaigns": others})
		node.send("GET", path, nil, "X-API-Key", foreign).expect(404)
	}

	// If the node is up and has no such file, there is no recording.
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if r := w.crm("GET", path, nil).expect(404); r.code() != "recording_not_found" {
		t.Error(r)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}

	w.operator("DELETE", url(unwanted), nil).expect(204)
	if left := wavs(t, other.recordings); len(left) != 1 || left[0] != file {
		t.Errorf("%v is left", left)
	}
	if r := w.crm("GET", url(unwanted), nil).expect(404); r.code() != "recording_deleted" {
		t.Error(r)
	}

	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	away := func(what string, r answer) {
		t.Helper()
		if r.expect(503).code() != "recording_elsewhere" || r.header.Get("Retry-After") == "" ||
			!strings.Contains(string(r.body), "node two") {
			t.Errorf("%s: %s, %v", what, r, r.header)
		}
	}
	away("a moment after its death", w.crm("GET", path, nil))
	eventually(t, "it is buried", func() bool {
		var n int
		w.query("SELECT count(*) FROM nodes WHERE left_at IS NULL", &n)
		return n == 1
	})
	away("once it is buried", w.crm("GET", path, nil))
	away("a deletion", w.operator("DELETE", path, nil))
	if len(wavs(t, other.recordings)) != 1 {
		t.Error("the file is gone")
	}
}
