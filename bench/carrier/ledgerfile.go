package carrier

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// ledgerFile appends one line per change of a call, each the whole current row, with one write per
// line: the carrier's record survives any crash of the others.
type ledgerFile struct {
	mu  sync.Mutex
	f   *os.File
	err error // the first error; a judge that could not write must report it
}

func openLedgerFile(path string) (*ledgerFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("ledger file: %w", err)
	}
	return &ledgerFile{f: f}, nil
}

func (l *ledgerFile) append(c *Call) {
	line, err := json.Marshal(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.f.Write(append(line, '\n'))
	}
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("ledger file: %w", err)
	}
}

func (l *ledgerFile) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.f.Close())
}

// ReadLedger folds the lines of a ledger file into rows, oldest INVITE first. A truncated last line
// is ignored.
func ReadLedger(r io.Reader) (Rows, error) {
	type key struct {
		id string
		n  int
	}
	at := map[key]int{}
	var rows Rows
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("ledger line %d: %w", n, err)
		}
		var c Call
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("ledger line %d: %w", n, err)
		}
		k := key{c.CallID, c.Incarnation}
		if i, ok := at[k]; ok {
			rows[i] = c
			continue
		}
		at[k] = len(rows)
		rows = append(rows, c)
	}
	slices.SortFunc(rows, func(a, b Call) int {
		return cmp.Or(a.InviteAt.Compare(b.InviteAt), cmp.Compare(a.CallID, b.CallID))
	})
	return rows, nil
}
