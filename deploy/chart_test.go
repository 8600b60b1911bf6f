package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"gopkg.in/yaml.v3"
)

// Helm is the one that make deps fetched. Where it fetched none, Helm runs at this version through go
// run, so that its own dependencies stay out of go.mod. The first run builds it, with the flags of the
// tests that are not raced, so that what both need is compiled once; that takes some minutes on one core.
const (
	fetched = "../bin/helm"
	helm    = "helm.sh/helm/v3/cmd/helm@v3.21.4"
)

// The schemas of Kubernetes are files of this module; none of its code is built.
const (
	schemasOf      = "sigs.k8s.io/kubectl-validate@v0.0.4"
	schemasFolder  = "pkg/openapiclient/builtins/1.30"
	helmPatience   = 10 * time.Minute
	chart          = "helm/dialler"
	someImage      = "--set=image.repository=registry.example.com/dialler"
	someDatabase   = "--set=database.existingSecret=dialler-database"
	threeOfCluster = "--set=replicas=3,cluster.url=etcd://etcd:2379/dialler,signingKey.existingSecret=dialler-signing"
)

// runHelm returns Helm's output, and whether it succeeded.
func runHelm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), helmPatience)
	defer cancel()
	command := []string{"go", "run", helm}
	if _, err := os.Stat(fetched); err == nil {
		command = []string{fetched}
	}
	command = append(command, args...)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home,
		"CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath")
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, &said)
	}
	return out.String(), nil
}

type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct{ Name string }
	raw        any
}

// render returns the objects that the chart makes.
func render(t *testing.T, args ...string) []object {
	t.Helper()
	text, err := runHelm(t, append([]string{"template", "dialler", chart, "--kube-version=1.30", someImage}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var all []object
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var raw any
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if raw == nil {
			continue
		}
		b, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		o := object{}
		if err := errors.Join(json.Unmarshal(b, &o), json.Unmarshal(b, &o.raw)); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

// kubernetes contains the schemas of the objects of one version.
type kubernetes struct {
	folder string
	docs   map[string]*openapi3.T
}

func newKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	var at struct{ Dir, Error string }
	if err := json.Unmarshal([]byte(tool(t, "go", "mod", "download", "-json", schemasOf)), &at); err != nil ||
		at.Dir == "" {
		t.Fatalf("%s cannot be had: %v %s", schemasOf, err, at.Error)
	}
	return &kubernetes{folder: filepath.Join(at.Dir, schemasFolder), docs: map[string]*openapi3.T{}}
}

// check validates an object against its schema; a field that the schema does not have is an error,
// as with kubectl's strict validation.
func (k *kubernetes) check(o object) error {
	file := filepath.Join("api", o.APIVersion+".json")
	if group, version, ok := strings.Cut(o.APIVersion, "/"); ok {
		file = filepath.Join("apis", group, version+".json")
	}
	doc := k.docs[file]
	if doc == nil {
		var err error
		if doc, err = openapi3.NewLoader().LoadFromFile(filepath.Join(k.folder, file)); err != nil {
			return err
		}
		k.docs[file] = doc
	}
	for name, s := range doc.Components.Schemas {
		if !strings.HasSuffix(name, "."+o.Kind) || !isOf(s.Value, o) {
			continue
		}
		return errors.Join(append(strangers(s.Value, o.raw, o.Kind), s.Value.VisitJSON(o.raw))...)
	}
	return fmt.Errorf("Kubernetes has no %s %s", o.APIVersion, o.Kind)
}

func isOf(s *openapi3.Schema, o object) bool {
	group, version, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		group, version = "", o.APIVersion
	}
	b, _ := json.Marshal(s.Extensions["x-kubernetes-group-version-kind"])
	var of []struct{ Group, Version, Kind string }
	_ = json.Unmarshal(b, &of)
	return slices.Contains(of, struct{ Group, Version, Kind string }{group, version, o.Kind})
}

// strangers lists the fields that a schema does not have.
func strangers(s *openapi3.Schema, v any, at string) (wrong []error) {
	for _, of := range s.AllOf {
		if len(s.AllOf) == 1 && len(s.Properties) == 0 {
			return strangers(of.Value, v, at)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			switch p := s.Properties[name]; {
			case p != nil:
				wrong = append(wrong, strangers(p.Value, x, at+"."+name)...)
			case s.AdditionalProperties.Schema != nil:
				wrong = append(wrong, strangers(s.AdditionalProperties.Schema.Value, x, at+"."+name)...)
			case len(s.Properties) > 0:
				wrong = append(wrong, fmt.Errorf("%s has no field %s", at, name))
			}
		}
	case []any:
		if s.Items != nil {
			for i, x := range v {
				wrong = append(wrong, strangers(s.Items.Value, x, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	}
	return wrong
}

func TestTheChartIsWhatKubernetesTakes(t *testing.T) {
	t.Parallel()
	if said, err := runHelm(t, "lint", "--strict", chart, someImage, someDatabase); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	k := newKubernetes(t)
	// A check that never finds anything proves nothing: it must find this.
	var wrong object
	const misspelt = `{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"serviceName":"a","replica":1,
		"selector":{},"template":{"spec":{"containers":[{"name":3}]}}}}`
	if err := errors.Join(json.Unmarshal([]byte(misspelt), &wrong),
		json.Unmarshal([]byte(misspelt), &wrong.raw)); err != nil {
		t.Fatal(err)
	}
	if err := k.check(wrong); err == nil || !strings.Contains(err.Error(), "no field replica") ||
		!strings.Contains(err.Error(), "string") {
		t.Errorf("a misspelt object passes: %v", err)
	}
	for name, args := range map[string][]string{
		"one node": {someDatabase},
		"everything": {threeOfCluster,
			"--set=hostNetwork=false,database.url=postgres://a:b@c/d,sip.external=203.0.113.9,persistence.storageClass=fast",
			"--set=ingress.enabled=true,ingress.host=d.example.com,ingress.tlsSecret=tls,ingress.className=nginx,image.tag=v1",
			"--set=secretEnv[0].name=CARRIER_PASSWORD,secretEnv[0].secret=carrier,secretEnv[0].key=password",
			"--set=extraEnv[0].name=SSL_CERT_DIR,extraEnv[0].value=/etc/roots,extraVolumes[0].name=roots," +
				"extraVolumes[0].secret.secretName=roots,extraVolumeMounts[0].name=roots," +
				"extraVolumeMounts[0].mountPath=/etc/roots,extraVolumeMounts[0].readOnly=true",
			"--set=serviceAccount.create=true,serviceAccount.annotations.a=b,podLabels.team=voice,priorityClassName=calls," +
				"topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone," +
				"topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
			"--set=nodeSelector.role=voice,tolerations[0].operator=Exists,podAnnotations.a=b," +
				"imagePullSecrets[0].name=r,config.callee-cap=3"},
	} {
		kinds := map[string]int{}
		for _, o := range render(t, args...) {
			kinds[o.Kind]++
			if err := k.check(o); err != nil {
				t.Errorf("%s: %s %s: %v", name, o.Kind, o.Metadata.Name, err)
			}
		}
		want := []string{"StatefulSet", "Service", "PodDisruptionBudget", "ConfigMap", "CronJob"}
		if name == "everything" {
			want = append(want, "Ingress", "NetworkPolicy", "Secret", "ServiceAccount")
		}
		for _, kind := range want {
			if kinds[kind] == 0 {
				t.Errorf("%s: no %s among %v", name, kind, kinds)
			}
		}
		if kinds["Service"] != 2 {
			t.Errorf("%s: %d services, want the API's and the headless one", name, kinds["Service"])
		}
	}
}

func TestTheChartGivesANodeItsNameItsAddressAndTheTimeToDrain(t *testing.T) {
	t.Parallel()
	for _, o := range render(t, someDatabase, threeOfCluster, "--set=drainTimeoutSeconds=600") {
		if o.Kind != "StatefulSet" {
			continue
		}
		b, err := json.Marshal(o.raw)
		if err != nil {
			t.Fatal(err)
		}
		var set struct {
			Spec struct {
				ServiceName string
				Template    struct {
					Spec struct {
						HostNetwork                   bool
						TerminationGracePeriodSeconds int
						SecurityContext               struct{ RunAsNonRoot bool }
						Containers                    []struct {
							Args            []string
							SecurityContext struct{ ReadOnlyRootFilesystem bool }
							LivenessProbe   struct{ HTTPGet struct{ Path string } }
							ReadinessProbe  struct{ HTTPGet struct{ Path string } }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(b, &set); err != nil {
			t.Fatal(err)
		}
		pod := set.Spec.Template.Spec
		c := pod.Containers[0]
		for _, flag := range []string{"--node=$(POD_NAME)", "--sip=[$(POD_IP)]:5060", "--cluster-listen=[$(POD_IP)]:7946",
			"--listen-http=:8080", "--cluster=etcd://etcd:2379/dialler", "--drain-timeout=600s",
			"--signing-key=/etc/dialler-signing/signing_key.pem"} {
			if !slices.Contains(c.Args, flag) {
				t.Errorf("a node is started without %s: %q", flag, c.Args)
			}
		}
		if pod.TerminationGracePeriodSeconds < 620 || set.Spec.ServiceName != "dialler-nodes" || !pod.HostNetwork ||
			!pod.SecurityContext.RunAsNonRoot || !c.SecurityContext.ReadOnlyRootFilesystem ||
			c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
			t.Errorf("%s", b)
		}
		return
	}
	t.Error("there is no StatefulSet")
}

// A node with a certificate answers only HTTPS: probes and scrapers must know that.
func TestTheChartAsksANodeThatServesHTTPSByHTTPS(t *testing.T) {
	t.Parallel()
	f := func(probes, monitor, url string, args ...string) {
		t.Helper()
		// PodMonitor is not a built-in object of Kubernetes: its API is not available here, so the
		// template is checked as it is.
		asked := map[string]string{}
		for _, o := range render(t, append([]string{someDatabase, "--set=podMonitor.enabled=true"}, args...)...) {
			b, err := json.Marshal(o.raw)
			if err != nil {
				t.Fatal(err)
			}
			var of struct {
				Spec struct {
					PodMetricsEndpoints []struct {
						Scheme    string
						TLSConfig struct{ InsecureSkipVerify bool }
					}
					Template struct {
						Spec struct{ Containers []map[string]any }
					}
				}
			}
			if o.Kind != "StatefulSet" && o.Kind != "PodMonitor" {
				continue
			}
			if err := json.Unmarshal(b, &of); err != nil {
				t.Fatal(err)
			}
			for _, e := range of.Spec.PodMetricsEndpoints {
				asked[o.Kind] = e.Scheme
				if e.TLSConfig.InsecureSkipVerify != (e.Scheme == "https") {
					t.Errorf("%q: a certificate does not name a pod's address: %+v", args, e)
				}
			}
			for _, c := range of.Spec.Template.Spec.Containers {
				for _, name := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
					scheme, _ := c[name].(map[string]any)["httpGet"].(map[string]any)["scheme"].(string)
					asked[name] = scheme
				}
				if !slices.Contains(c["args"].([]any), any("--public-url="+url)) {
					t.Errorf("%q: not --public-url=%s: %v", args, url, c["args"])
				}
			}
		}
		want := map[string]string{"startupProbe": probes, "livenessProbe": probes, "readinessProbe": probes,
			"PodMonitor": monitor}
		if !maps.Equal(asked, want) {
			t.Errorf("%q: %v, want %v", args, asked, want)
		}
	}
	const plain, secure = "http://dialler.default.svc:80", "https://dialler.default.svc:80"
	f("HTTP", "http", plain)
	f("HTTP", "http", plain, "--set=config.tls-own=false")
	f("HTTPS", "https", secure, "--set=config.tls-own=true")
	f("HTTPS", "https", secure, "--set-string=config.tls-own=true")
	f("HTTPS", "https", secure, "--set=config.tls-cert=/etc/tls/tls.crt,config.tls-key=/etc/tls/tls.key")
}

// containers returns the containers of a kind of object, with the volumes and the account of its pod.
func containers(t *testing.T, o object) (list []map[string]any, pod map[string]any) {
	t.Helper()
	spec := o.raw.(map[string]any)["spec"].(map[string]any)
	if job, ok := spec["jobTemplate"].(map[string]any); ok {
		spec = job["spec"].(map[string]any)
	}
	pod = spec["template"].(map[string]any)["spec"].(map[string]any)
	for _, c := range pod["containers"].([]any) {
		list = append(list, c.(map[string]any))
	}
	return list, pod
}

// Certificates, keys of secrets and roots of the database are files that pods must be given.
func TestTheChartGivesPodsFilesVariablesAndAnAccount(t *testing.T) {
	t.Parallel()
	named := func(list any, name string) bool {
		all, _ := list.([]any)
		return slices.ContainsFunc(all, func(v any) bool { return v.(map[string]any)["name"] == name })
	}
	f := func(account any, args ...string) {
		t.Helper()
		seen := 0
		for _, o := range render(t, append([]string{someDatabase, "--set=extraVolumes[0].name=roots," +
			"extraVolumes[0].secret.secretName=roots,extraVolumeMounts[0].name=roots," +
			"extraVolumeMounts[0].mountPath=/etc/roots,extraEnv[0].name=SSL_CERT_DIR," +
			"extraEnv[0].value=/etc/roots"}, args...)...) {
			if o.Kind != "StatefulSet" && o.Kind != "CronJob" {
				continue
			}
			seen++
			list, pod := containers(t, o)
			if !named(pod["volumes"], "roots") || !named(list[0]["volumeMounts"], "roots") ||
				!named(list[0]["env"], "SSL_CERT_DIR") || !named(list[0]["env"], "DATABASE_URL") {
				t.Errorf("%s: %v", o.Kind, pod)
			}
			if pod["serviceAccountName"] != account || pod["automountServiceAccountToken"] != false {
				t.Errorf("%s %q: account %v", o.Kind, args, pod["serviceAccountName"])
			}
		}
		if seen != 2 {
			t.Errorf("%d kinds of pods", seen)
		}
	}
	f(nil)
	f("dialler", "--set=serviceAccount.create=true")
	f("ours", "--set=serviceAccount.name=ours")
}

func TestTheChartRefusesWhatWouldNotRun(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"image.repository must say where":  {someDatabase, "--set=image.repository="},
		"database.existingSecret":          nil,
		"extraVolumeMounts":                {someDatabase, "--set=extraVolumeMounts[0].name=a"},
		"more than one node needs":         {someDatabase, "--set=replicas=2"},
		"a cluster needs signingKey":       {someDatabase, "--set=cluster.url=etcd://etcd:2379/dialler"},
		"ingress.enabled needs":            {someDatabase, "--set=ingress.enabled=true"},
		"additional properties 'replicaz'": {someDatabase, "--set=replicaz=2"},
		"drainTimeoutSeconds":              {someDatabase, "--set=drainTimeoutSeconds=0"},
	} {
		if _, err := runHelm(t, append([]string{"template", "dialler", chart, "--kube-version=1.30", someImage},
			args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something about %q", args, err, want)
		}
	}
}
