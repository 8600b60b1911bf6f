package commit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// floorTable has the columns and indexes of the events.
const floorTable = `CREATE TABLE copy_floor (LIKE events INCLUDING ALL)`

// floor copies the events that the writers wrote, in batches.
func (l *lab) floor(ctx context.Context, url string) (rows []BatchRow, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, floorTable); err != nil {
		return nil, err
	}
	var all bytes.Buffer
	if _, err := conn.PgConn().CopyTo(ctx, &all,
		`COPY (SELECT * FROM events WHERE attempt_id IS NOT NULL ORDER BY at, seq LIMIT 100000)
			TO STDOUT (FORMAT binary)`); err != nil {
		return nil, err
	}
	head, tuples, err := split(all.Bytes())
	if err != nil {
		return nil, err
	}
	for _, size := range l.cfg.Batches {
		if size > len(tuples) {
			continue
		}
		l.cfg.Log("COPY of %d events", size)
		if _, err := conn.Exec(ctx, "TRUNCATE copy_floor"); err != nil {
			return nil, err
		}
		var took []time.Duration
		client, server := cpuSelf(), cpuServer(l.pid)
		began, at, written := time.Now(), 0, 0
		for time.Since(began) < l.cfg.Duration {
			if at+size > len(tuples) { // start over from the first: the indexes are unique
				if _, err := conn.Exec(ctx, "TRUNCATE copy_floor"); err != nil {
					return nil, err
				}
				at = 0
			}
			var b bytes.Buffer
			b.Write(head)
			for _, t := range tuples[at : at+size] {
				b.Write(t)
			}
			b.Write([]byte{0xff, 0xff})
			begin := time.Now()
			if _, err := conn.PgConn().CopyFrom(ctx, &b, "COPY copy_floor FROM STDIN (FORMAT binary)"); err != nil {
				return nil, err
			}
			took = append(took, time.Since(begin))
			at, written = at+size, written+size
		}
		e := float64(written)
		rows = append(rows, BatchRow{Batch: size, Row: Row{Events: written, PerSecond: e / time.Since(began).Seconds(),
			Commit:   percentiles(took),
			ClientUS: us(cpuSelf()-client) / e, ServerUS: us(cpuServer(l.pid)-server) / e}})
	}
	return rows, nil
}

// agedSegments is how many WAL segments of 16 MiB a database has ready after working for a while: a
// fresh one zeroes each new one in the middle of a commit.
const agedSegments = 14

func (l *lab) age(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for range agedSegments {
		if _, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(false, 'commit', ''), pg_switch_wal()"); err != nil {
			return fmt.Errorf("commit: age the database: %w", err)
		}
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return err
}

// split parses the binary format of COPY: the header before the tuples, and each tuple.
func split(b []byte) (head []byte, tuples [][]byte, err error) {
	const fixed = 11 + 4 + 4 // signature, flags, length of an extension
	broken := errors.New("commit: not the binary format of COPY")
	if len(b) < fixed {
		return nil, nil, broken
	}
	at := fixed + int(binary.BigEndian.Uint32(b[fixed-4:]))
	head = b[:at]
	for {
		if at+2 > len(b) {
			return nil, nil, broken
		}
		begin, fields := at, int(int16(binary.BigEndian.Uint16(b[at:]))) //nolint:gosec // as the format has it
		if fields < 0 {
			return head, tuples, nil
		}
		at += 2
		for range fields {
			if at+4 > len(b) {
				return nil, nil, broken
			}
			n := int(int32(binary.BigEndian.Uint32(b[at:]))) //nolint:gosec // as the format has it
			at += 4 + max(n, 0)
		}
		if at > len(b) {
			return nil, nil, broken
		}
		tuples = append(tuples, b[begin:at])
	}
}

// machine describes the machine that was measured.
func (l *lab) machine(ctx context.Context, f *Figures) error {
	for name, into := range map[string]*string{"server_version": &f.PostgreSQL, "fsync": &f.Fsync,
		"synchronous_commit": &f.Synchronous} {
		if err := l.store.QueryRow(ctx, "SELECT current_setting('"+name+"')", into); err != nil {
			return err
		}
	}
	return nil
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func cpuSelf() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// cpuServer reads the CPU time of a server's process, of its children, and of those that have
// ended.
func cpuServer(pid int) (sum time.Duration) {
	sum = cpuOf(pid, 4)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return sum
	}
	for _, c := range strings.Fields(string(children)) {
		if id, err := strconv.Atoi(c); err == nil {
			sum += cpuOf(id, 2)
		}
	}
	return sum
}

// cpuOf adds the first n of utime, stime, cutime and cstime: in units of 1/100 s on Linux.
func cpuOf(pid, n int) (sum time.Duration) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for i := 11; i < 11+n && i < len(f); i++ {
		ticks, _ := strconv.Atoi(f[i])
		sum += time.Duration(ticks) * 10 * time.Millisecond
	}
	return sum
}
