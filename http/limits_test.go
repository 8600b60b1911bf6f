package http

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"dialler/engine/campaign"
	"dialler/http/form"
)

func TestTheNameOfAFileMayHave255Bytes(t *testing.T) {
	b := newBench(t)
	const csv = "text/csv"
	post := func(n int) answer {
		return b.do("POST", importsPath+"?wait=false&filename="+strings.Repeat("x", n), "phone_number\n", "Content-Type", csv,
			"Authorization", "Bearer "+b.token("usr_oper"))
	}
	post(255).is(202, "")
	post(256).is(422, "validation_failed", "filename too_long")
}

func TestABodyMayBeNested32Deep(t *testing.T) {
	f := func(depth int, ok bool) {
		t.Helper()
		var errs form.Errors
		src := append(bytes.Repeat([]byte(`{"a":`), depth-1), "{}"...)
		src = append(src, bytes.Repeat([]byte("}"), depth-1)...)
		if _, e := form.Parse(src, &errs); (e == nil) != ok {
			t.Errorf("depth %d: %v", depth, e)
		}
	}
	f(32, true)
	f(33, false)
}

func TestSixteenReportsMayBeWrittenAtTheSameTime(t *testing.T) {
	b := newBench(t)
	b.ports.onPart = func(campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) { return nil, nil }
	b.server.files.Sheets.Store(15)
	b.byAdmin("GET", reportPath, "").is(200, "")
	eventually(t, "the report is counted no longer", func() bool { return b.server.files.Sheets.Load() == 15 })
	b.server.files.Sheets.Store(16)
	b.byAdmin("GET", reportPath, "").is(503, "too_many_reports")
}

func TestTheLimitsOfASuppressionRequest(t *testing.T) {
	b := newBench(t)
	numbers := make([]string, 1001)
	for i := range numbers {
		numbers[i] = fmt.Sprintf(`"+49151%08d"`, 10_000_000+i)
	}
	post := func(n, reason int) answer {
		return b.byAdmin("POST", suppressionsPath, `{"numbers":[`+strings.Join(numbers[:n], ",")+`],"reason":"`+
			strings.Repeat("x", reason)+`"}`)
	}
	post(1000, 200).is(200, "")
	post(1001, 200).is(422, "validation_failed", "numbers too_long")
	post(1, 201).is(422, "validation_failed", "reason too_long")
}
