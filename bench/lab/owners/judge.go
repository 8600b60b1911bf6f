package owners

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"dialler/engine/promise"
)

// Act is one act of a node for an identity.
type Act struct {
	At       int64 // boot-time clock, ns
	Identity string
	Epoch    int64
	By       string // the same throughout an epoch: node and incarnation
}

func (a Act) line() string { return fmt.Sprintf("%d %s %d %s\n", a.At, a.Identity, a.Epoch, a.By) }

// notebook reads the nodes' records while they are being written, each line once.
type notebook struct {
	read map[string]int64 // bytes read of each file
	acts []Act
}

// look returns the new acts in the files; an incomplete last line is left for the next time.
func (b *notebook) look(files ...string) ([]Act, error) {
	if b.read == nil {
		b.read = map[string]int64{}
	}
	for _, name := range files {
		if err := b.readOn(name); err != nil {
			return nil, err
		}
	}
	return b.acts, nil
}

func (b *notebook) readOn(name string) error {
	f, err := os.Open(name) //nolint:gosec // a file of this run
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(b.read[name], io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	b.read[name] += int64(len(text))
	for line := range strings.Lines(string(text)) {
		a, err := parse(line)
		if err != nil {
			return fmt.Errorf("%s: %q: %w", name, line, err)
		}
		b.acts = append(b.acts, a)
	}
	return nil
}

// parse reads the line of an act.
func parse(line string) (a Act, err error) {
	f := strings.Fields(line)
	if len(f) != 4 {
		return a, errors.New("owners: not an act")
	}
	a.Identity, a.By = f[1], f[3]
	if a.At, err = strconv.ParseInt(f[0], 10, 64); err == nil {
		a.Epoch, err = strconv.ParseInt(f[2], 10, 64)
	}
	return a, err
}

// Judge reports violations: two owners of an epoch, and acts in an epoch after one in a later
// epoch. It returns one sentence per identity.
func Judge(acts []Act) (wrong []string) {
	var r promise.Record
	for _, a := range acts {
		r.Add(time.Unix(0, a.At), promise.Acted{Identity: a.Identity, Epoch: a.Epoch, By: a.By})
	}
	r.Tell(promise.NewJudge(func(b promise.Broken) { wrong = append(wrong, b.What) }))
	return wrong
}
