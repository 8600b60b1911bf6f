package keys

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecretIsReadFromTheFileOfItsVariable(t *testing.T) {
	f := func(variable, file, want, mistake string) {
		t.Helper()
		for name, value := range map[string]string{"CARRIER": variable, "CARRIER_FILE": file} {
			t.Setenv(name, value)
			if value == "" {
				_ = os.Unsetenv(name)
			}
		}
		got, ok, err := Variable("CARRIER")
		if got != want || ok != (want != "") || (err != nil) != (mistake != "") ||
			err != nil && !strings.Contains(err.Error(), mistake) {
			t.Errorf("%q, %q: %q %v %v", variable, file, got, ok, err)
		}
	}
	dir := t.TempDir()
	file, large := filepath.Join(dir, "secret"), filepath.Join(dir, "large")
	for name, text := range map[string]string{file: " wonder land\r\n", large: strings.Repeat("x", secretsFileCap+1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f("", "", "", "")
	f("wonderland", "", "wonderland", "")
	f("", file, " wonder land", "")
	f("wonderland", file, "", "CARRIER and CARRIER_FILE are both set")
	f("", filepath.Join(dir, "none"), "", "CARRIER_FILE: ")
	f("", large, "", "it has more than 64 KiB")
}
