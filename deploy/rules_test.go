// Package deploy_test checks the files in this folder against the tools that will read them, and
// against the documentation.
package deploy_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// patience bounds every tool that is run.
const patience = 2 * time.Minute

// tool runs a program and returns its output; it fails the test when the program fails.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v (make deps installs what is missing)\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// decode reads a YAML file into v; unknown fields are errors.
func decode(t *testing.T, file string, v any) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	decode(t, "prometheus/rules.yaml", &file)
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 30 {
		t.Fatalf("only %d alerts were read", len(all))
	}
	return all
}

func TestPrometheusTakesTheRulesAndEachFiresInItsTest(t *testing.T) {
	t.Parallel()
	tool(t, "promtool", "check", "rules", "prometheus/rules.yaml")
	tool(t, "promtool", "check", "config", "--syntax-only", "prometheus/prometheus.yaml")
	tool(t, "promtool", "test", "rules", "prometheus/rules_test.yaml")
}

func TestEveryAlertSaysWhatItMeansAndIsFiredAndSilentInTests(t *testing.T) {
	t.Parallel()
	var file struct {
		RuleFiles []string `yaml:"rule_files"`
		Interval  string   `yaml:"evaluation_interval"`
		Tests     []struct {
			Name     string              `yaml:"name"`
			Interval string              `yaml:"interval"`
			Series   []map[string]string `yaml:"input_series"`
			Alerts   []struct {
				Alert string `yaml:"alertname"`
				At    string `yaml:"eval_time"`
				Fired []struct {
					Labels      map[string]string `yaml:"exp_labels"`
					Annotations map[string]string `yaml:"exp_annotations"`
				} `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	decode(t, "prometheus/rules_test.yaml", &file)
	fired, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, a := range test.Alerts {
			if len(a.Fired) > 0 {
				fired[a.Alert] = true
			} else if test.Name == "healthy" {
				silent[a.Alert] = true
			}
		}
	}
	seen := map[string]bool{}
	for _, r := range rules(t) {
		if seen[r.Alert] {
			t.Errorf("%s is there twice", r.Alert)
		}
		seen[r.Alert] = true
		if !fired[r.Alert] {
			t.Errorf("no test of rules_test.yaml fires %s", r.Alert)
		}
		if !silent[r.Alert] {
			t.Errorf("the healthy case of rules_test.yaml does not look at %s", r.Alert)
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s: severity %q, want page or ticket", r.Alert, s)
		}
		for _, name := range []string{"summary", "description"} {
			if text := r.Annotations[name]; !strings.HasSuffix(text, ".") {
				t.Errorf("%s: its %s is no sentence: %q", r.Alert, name, text)
			}
		}
		if want := "docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
		}
	}
}

// heading matches the runbook's entries.
var heading = regexp.MustCompile(`(?m)^### (\w+)$`)

func TestTheRunbookHasAnEntryForEveryAlertAndForNoOther(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	at := heading.FindAllStringSubmatchIndex(string(text), -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		entries[string(text[m[2]:m[3]])] = string(text[m[1]:end])
	}
	for _, r := range rules(t) {
		entry, ok := entries[r.Alert]
		if !ok {
			t.Errorf("docs/runbook.md has no entry for %s", r.Alert)
			continue
		}
		delete(entries, r.Alert)
		for _, part := range []string{"**Means**", "**Callers**", "**Look**", "**Do**"} {
			if !strings.Contains(entry, part) {
				t.Errorf("the runbook's entry for %s has no %s", r.Alert, part)
			}
		}
	}
	for name := range entries {
		t.Errorf("the runbook has an entry for %s, which is no alert", name)
	}
}
