package lists

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/failure"
	"dialler/persistence/table"
)

// Chart data is counted from the attempts of the run in the requested time, in one pass. A run of a
// million dials takes seconds: no query takes longer than Config.ChartLimit, and no writer waits
// for a chart.

var errChartTooLong = engine.Unavailable("chart_too_long",
	"The run has too many calls to count in time; narrow the time with from and to, or try later.",
	30*time.Second)

// chartReach is longer than any call: an attempt reserved that long before a time is not live at
// that time.
const chartReach = "interval '5 hours'"

// isDial is the Attempt Report's definition of dialled: the INVITE was sent, or may have been.
const isDial = "(a.invite_at IS NOT NULL OR a.consumed)"

// seriesMarks returns the number of each step ($5 seconds long, counted from $3), what begins and
// ends in it, and for gauges how much of the step they last.
var seriesMarks = `SELECT i::integer,
		count(*) FILTER (WHERE kind = 'dial' AND x >= 0),
		count(*) FILTER (WHERE kind = 'dial' AND x >= 0 AND decided),
		count(*) FILTER (WHERE kind = 'dial' AND x >= 0 AND answered),
		count(*) FILTER (WHERE kind = 'answer' AND x >= 0 AND (served OR abandoned)),
		count(*) FILTER (WHERE kind = 'answer' AND x >= 0 AND abandoned),
		coalesce(sum(sign) FILTER (WHERE kind = 'ring'), 0)::integer,
		coalesce(sum(sign * (i + 1 - greatest(x, 0))) FILTER (WHERE kind = 'ring'), 0)::float8,
		coalesce(sum(sign) FILTER (WHERE kind = 'talk'), 0)::integer,
		coalesce(sum(sign * (i + 1 - greatest(x, 0))) FILTER (WHERE kind = 'talk'), 0)::float8
	FROM (SELECT m.kind, m.sign, ` + table.Decided("a") + ` AS decided, a.answered_at IS NOT NULL AS answered,
			a.served_at IS NOT NULL AS served,
			a.outcome = 'abandoned' AND NOT a.live AS abandoned, x, greatest(floor(x), 0) AS i
		FROM attempts a
		CROSS JOIN LATERAL (VALUES
			('dial', 0, CASE WHEN ` + isDial + ` THEN coalesce(a.invite_at, a.reserved_at) END),
			('answer', 0, a.answered_at),
			('ring', 1, a.ringing_at),
			('ring', -1, CASE WHEN a.ringing_at IS NOT NULL AND coalesce(a.answered_at,
				a.ended_at) IS NOT NULL THEN greatest(a.ringing_at, coalesce(a.answered_at, a.ended_at)) END),
			('talk', 1, a.served_at),
			('talk', -1, CASE WHEN a.served_at IS NOT NULL AND a.ended_at IS NOT NULL THEN greatest(a.served_at,
				a.ended_at) END)
		) AS m(kind, sign, at)
		CROSS JOIN LATERAL (SELECT (extract(epoch FROM m.at - $3::timestamptz) / $5::float8)::float8 AS x) AS y
		WHERE a.campaign_id = $1 AND a.run = $2 AND a.reserved_at >= $3::timestamptz - ` + chartReach + `
		AND a.reserved_at < $4::timestamptz
			AND m.at < $4::timestamptz) AS z
	GROUP BY i ORDER BY i`

// Series returns the course of a run over a time. Errors: NotFound "campaign_not_found",
// "run_not_found"; Unavailable "chart_too_long".
func (s *Lists) Series(ctx context.Context, q campaign.SeriesQuery) (out campaign.Series, err error) {
	err = s.chart(ctx, "series of a run not read", q.Campaign, q.Run, func(tx pgx.Tx, run int) error {
		if err := spanOf(ctx, tx, &q, run); err != nil {
			return err
		}
		out = campaign.NewSeries(q.From, q.Until, q.Points)
		out.Run = run
		return addSeries(ctx, tx, &out, q.Campaign)
	})
	return out, err
}

// spanOf fills in the times that were not given.
func spanOf(ctx context.Context, tx pgx.Tx, q *campaign.SeriesQuery, run int) error {
	if q.From.IsZero() {
		err := tx.QueryRow(ctx, `SELECT coalesce((SELECT reserved_at FROM attempts WHERE campaign_id = $1 AND run = $2
			ORDER BY reserved_at LIMIT 1), $3::timestamptz)`, string(q.Campaign), run, q.Now).Scan(&q.From)
		if err != nil {
			return err
		}
	}
	if q.Until.IsZero() {
		// The last attempt to be reserved is seldom the last to end, so those that began in the
		// hours before it are considered too.
		err := tx.QueryRow(ctx, `SELECT coalesce((SELECT max(CASE WHEN a.live THEN $3::timestamptz ELSE a.ended_at END)
			FROM attempts a
			WHERE a.campaign_id = $1 AND a.run = $2 AND a.reserved_at >= (SELECT reserved_at FROM attempts
			WHERE campaign_id = $1 AND run = $2
				ORDER BY reserved_at DESC LIMIT 1) - `+chartReach+`), $3::timestamptz)`, string(q.Campaign), run,
			q.Now).Scan(&q.Until)
		if err != nil {
			return err
		}
	}
	if q.Until.Before(q.From) {
		q.Until = q.From
	}
	return nil
}

func addSeries(ctx context.Context, tx pgx.Tx, out *campaign.Series, id engine.CampaignID) error {
	ends := out.From.Add(time.Duration(len(out.Points)) * out.Step)
	rows, _ := tx.Query(ctx, seriesMarks, string(id), out.Run, out.From, ends, out.Step.Seconds())
	var i, ring, talk int
	var p campaign.SeriesPoint
	var begun [2]int // calls ringing, and talking, at the start of a step
	next := 0
	fill := func(until int) {
		for ; next < until; next++ {
			out.Points[next].Ringing, out.Points[next].Connected = float64(begun[0]), float64(begun[1])
		}
	}
	_, err := pgx.ForEachRow(rows, []any{&i, &p.Dials, &p.Decided, &p.Answered, &p.LiveAnswers, &p.Abandoned, &ring,
		&p.Ringing, &talk, &p.Connected}, func() error {
		i = min(i, len(out.Points)-1) // x is rounded
		fill(i)
		p.Ringing, p.Connected = max(p.Ringing+float64(begun[0]), 0), max(p.Connected+float64(begun[1]), 0)
		out.Points[i] = p
		begun[0] += ring
		begun[1] += talk
		next = i + 1
		return nil
	})
	fill(len(out.Points))
	return err
}

// breakdown counts the ended dials of a run by three groupings in one pass: by final code and
// outcome, by caller ID, and by the time to the first sound. The answer rate of a caller ID
// includes answered calls in progress.
var breakdown = func() string {
	var bounds []string
	for _, b := range campaign.FirstAudioBounds {
		bounds = append(bounds, strconv.FormatFloat(b.Seconds(), 'f', -1, 64))
	}
	// In width_bucket a bound is the first value of the next bucket; here it is the last of its
	// own.
	return `SELECT grouping(sip_code), grouping(from_number), coalesce(sip_code, 0), coalesce(outcome, ''),
		coalesce(from_number, ''), coalesce(heard, -1),
			count(*) FILTER (WHERE NOT live), count(*) FILTER (WHERE decided), count(answered_at),
			coalesce(max(sip_reason), '')
		FROM (SELECT a.sip_code, a.outcome, a.from_number, a.answered_at, a.sip_reason, a.live,
				` + table.Decided("a") + ` AS decided,
				CASE WHEN a.answered_at IS NULL OR a.bot_first_audio_at IS NULL THEN -1
					ELSE ` + strconv.Itoa(len(bounds)) + ` -
					width_bucket(-extract(epoch FROM a.bot_first_audio_at - a.answered_at)::float8,
						ARRAY[` + reversed(bounds) + `]::float8[]) END AS heard
			FROM attempts a WHERE a.campaign_id = $1 AND a.run = $2 AND (NOT a.live OR a.answered_at IS NOT NULL)
				AND ` + isDial + `) AS d
		GROUP BY GROUPING SETS ((sip_code, outcome), (from_number), (heard)) ORDER BY 7 DESC, 3, 4, 5, 6`
}()

// reversed returns the negated bounds in ascending order.
func reversed(bounds []string) string {
	var list []string
	for _, b := range slices.Backward(bounds) {
		list = append(list, "-"+b)
	}
	return strings.Join(list, ", ")
}

// Breakdown returns the results of a run's dials; run 0 means the current one. Errors are those of
// Series.
func (s *Lists) Breakdown(ctx context.Context, id engine.CampaignID, run int) (out campaign.Breakdown, err error) {
	err = s.chart(ctx, "breakdown of a run not read", id, run, func(tx pgx.Tx, run int) error {
		out = campaign.Breakdown{Run: run, FirstAudio: make([]int, len(campaign.FirstAudioBounds)+1)}
		rows, _ := tx.Query(ctx, breakdown, string(id), run)
		var noCode, noNumber, heard int
		var c campaign.DialCause
		var n campaign.NumberDials
		var count int
		_, err := pgx.ForEachRow(rows, []any{&noCode, &noNumber, &c.Code, (*string)(&c.Outcome), (*string)(&n.Number),
			&heard, &count, &n.Decided, &n.Answered, &c.Reason}, func() error {
			switch {
			case noCode == 0 && count > 0:
				out.Dials += count
				if c.Count = count; len(out.Causes) < campaign.BreakdownCap {
					out.Causes = append(out.Causes, c)
				}
			case noCode == 0: // calls in progress
			case noNumber == 0:
				if n.Dials = count; len(out.Numbers) < campaign.BreakdownCap {
					out.Numbers = append(out.Numbers, n)
				}
			case heard >= 0:
				out.FirstAudio[heard] += count
			}
			return nil
		})
		return err
	})
	return out, err
}

// chart reads in one snapshot, within the time limit.
func (s *Lists) chart(ctx context.Context, what string, id engine.CampaignID, run int, read func(tx pgx.Tx,
	run int) error) error {
	return s.db.InTxOf(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, what,
		func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx,
				"SET LOCAL statement_timeout = "+strconv.FormatInt(s.db.Config.ChartLimit.Milliseconds(), 10))
			if err == nil {
				run, err = chartRun(ctx, tx, id, run)
			}
			if err == nil {
				err = read(tx, run)
			}
			if state, _ := failure.SQLState(err); state == "57014" && ctx.Err() == nil {
				return errChartTooLong
			}
			return err
		})
}

// chartRun is the requested run; 0 means the current one.
func chartRun(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int) (int, error) {
	var present int
	err := tx.QueryRow(ctx, "SELECT run FROM campaigns WHERE id = $1", string(id)).Scan(&present)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, table.ErrCampaignNotFound
	case run > present:
		return 0, table.ErrRunNotFound
	case run == 0:
		return present, err
	}
	return run, err
}
