package owners

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
)

// Act is one time that a node acted for an identity.
type Act struct {
	At       int64 // boot-time clock, ns
	Identity string
	Epoch    int64
	By       string // of one epoch always the same: node and incarnation
}

func (a Act) line() string { return fmt.Sprintf("%d %s %d %s\n", a.At, a.Identity, a.Epoch, a.By) }

// Read reads what nodes noted; a last line that is not whole is left out.
func Read(files ...string) ([]Act, error) {
	var all []Act
	for _, f := range files {
		text, err := os.ReadFile(f) //nolint:gosec // a file of this run
		if err != nil {
			return nil, err
		}
		text = text[:bytes.LastIndexByte(text, '\n')+1]
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			var a Act
			if _, err := fmt.Sscanf(lines.Text(), "%d %s %d %s", &a.At, &a.Identity, &a.Epoch, &a.By); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", f, lines.Text(), err)
			}
			all = append(all, a)
		}
	}
	return all, nil
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
