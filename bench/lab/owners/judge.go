package owners

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Act is one time that a node acted for an identity.
type Act struct {
	At       int64 // boot-time clock, ns
	Identity string
	Epoch    int64
	By       string // of one epoch always the same: node and incarnation
}

func (a Act) line() string { return fmt.Sprintf("%d %s %d %s\n", a.At, a.Identity, a.Epoch, a.By) }

// notebook reads what nodes note while they do, each line once.
type notebook struct {
	read map[string]int64 // of each file so many bytes
	acts []Act
}

// look gives all acts that are noted in the files; a last line that is not whole
// is left for the next time.
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

// Judge names what must not be: two owners of an epoch, and acts in an epoch
// after one in a later epoch. One sentence an identity.
func Judge(acts []Act) []string {
	acts = slices.Clone(acts)
	slices.SortStableFunc(acts, func(a, b Act) int { return cmp.Compare(a.At, b.At) })
	type epoch struct {
		identity string
		n        int64
	}
	owner, last, wrong := map[epoch]string{}, map[string]Act{}, map[string]string{}
	for _, a := range acts {
		k := epoch{a.Identity, a.Epoch}
		if by, ok := owner[k]; ok && by != a.By {
			wrong[a.Identity] = fmt.Sprintf("%s: epoch %d is of %s and of %s", a.Identity, a.Epoch, by, a.By)
		}
		owner[k] = a.By
		if l := last[a.Identity]; a.Epoch < l.Epoch {
			wrong[a.Identity] = fmt.Sprintf("%s: %s acted in epoch %d, %d ms after %s had in epoch %d", a.Identity, a.By, a.Epoch, (a.At-l.At)/1e6, l.By, l.Epoch)
			continue
		}
		last[a.Identity] = a
	}
	var all []string
	for _, w := range wrong {
		all = append(all, w)
	}
	slices.Sort(all)
	return all
}
