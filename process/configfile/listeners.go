package configfile

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"

	"dialler/sipstack"
)

// ListenersKey is the key of the SIP listeners in the configuration file.
const ListenersKey = "sip-listeners"

// fileListener is one entry of "sip-listeners:".
type fileListener struct {
	Name       string   `yaml:"name"`
	Address    string   `yaml:"address"`
	Transports []string `yaml:"transports"`
	External   string   `yaml:"external"`
	// Certificate is a PEM file with the chain; Key is one with its key, the same file when empty.
	Certificate string `yaml:"certificate"`
	Key         string `yaml:"key"`
}

// Listeners reads the listeners of a configuration file; there are none without a file. A listener
// is validated when it is opened.
func Listeners(path string) ([]sipstack.Listener, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var file map[string]yaml.Node
	if err := yaml.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("%s is not valid YAML: %w", path, err)
	}
	node, ok := file[ListenersKey]
	if !ok {
		return nil, nil
	}
	text, err := yaml.Marshal(&node)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, ListenersKey, err)
	}
	var entries []fileListener
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // a misspelt field must not be ignored
	if err := d.Decode(&entries); err != nil {
		return nil, fmt.Errorf(
			"%s: %s must be a list of listeners with name, address, transports, external, certificate, key: %w",
			path,
			ListenersKey,
			err,
		)
	}
	var out []sipstack.Listener
	var wrong []error
	for i, e := range entries {
		l, err := e.listener()
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s[%d] (%s): %w", path, ListenersKey, i, e.Name, err))
		}
		out = append(out, l)
	}
	return out, errors.Join(wrong...)
}

func (e *fileListener) listener() (sipstack.Listener, error) {
	l := sipstack.Listener{Name: e.Name, Address: e.Address, ExternalHost: e.External}
	for _, t := range e.Transports {
		l.Transports = append(l.Transports, sipstack.Transport(t))
	}
	if e.Certificate == "" {
		if e.Key != "" {
			return l, errors.New("key: needs a certificate")
		}
		return l, nil
	}
	key := e.Key
	if key == "" {
		key = e.Certificate
	}
	pair, err := tls.LoadX509KeyPair(e.Certificate, key)
	if err != nil {
		return l, fmt.Errorf("certificate: must be PEM, with its private key there or in key: %w", err)
	}
	l.Certificate = &pair
	return l, nil
}
