package download

import "testing"

func TestGzipIsSentToThoseWhoTakeIt(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "identity": false, "gzip": true, "GZIP": true, "x-gzip": true, "br, gzip ; q=0.2": true,
		"deflate,*": true, "gzip;q=0": false,
		"gzip;q=0.000, *": false, "*;q=0": false, "gzip;q=x": false, "gzippy": false,
	} {
		if got := takesGzip([]byte(accept)); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}
