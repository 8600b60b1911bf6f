package campaign

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contactlist"
	"dialler/engine/journal"
	core "dialler/engine/run"
)

// Files of contacts. The rows are staged while the file comes in, outside the campaign and apart
// from the group commits, and become contacts in one switch (ADR 11). The campaign's run is asked
// three times: before the first byte whether it accepts contacts, before the switch, and during it,
// at the gate; finally it is told the outcome.

const (
	// A chunk of staged rows ends at whichever comes first.
	chunkRows  = 2000
	chunkBytes = 1 << 20
	// gateTimeout bounds the wait for the run during a switch, while the file's numbers are locked.
	gateTimeout = 10 * time.Second
	// settleTimeout bounds how long the sender waits for an import whose outcome is unknown; the
	// outcome is still determined afterwards.
	settleTimeout = 5 * time.Second
	// activationPulse is how often a run is told that a switch is in progress, so that a restarted
	// run learns of it.
	activationPulse = time.Second
)

// importing is one import.
type importing struct {
	d        *Deps
	guardian *actor.PID // of the campaigns
	imp      campaign.Import
	wait     bool
	terms    core.ImportTerms
	gated    bool  // passed the gate: the transaction may have committed
	epoch    int64 // of the run that closed the gate
	event    journal.Event

	rows     []journal.StagedRow
	rejected []campaign.RejectedRow
	bytes    int
	staged   int
}

// Import reads a file of contacts (package contactlist) into a draft that never ran or a running
// campaign. With cmd.Wait it returns the import once all its rows are contacts, otherwise once they
// are staged. The file is read only if the campaign accepts contacts. An error of the file's reader
// is returned as it is; after any error, no row is in the campaign. ctx ends the reading and the
// waiting; a switch that has begun goes on.
func (g *Imports) Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	d := g.d
	if err := d.Writers.Database.Err(); err != nil {
		return campaign.Import{}, err
	}
	if !g.enter() {
		return campaign.Import{}, errClosing
	}
	now := d.Clock.Now()
	i := &importing{d: d, guardian: g.guardian, wait: cmd.Wait, imp: campaign.Import{
		ID: engine.ImportID(host.NewID(now)), Campaign: cmd.Campaign, State: campaign.ImportStaging,
		Filename: cmd.Filename, CreatedAt: now, CreatedBy: cmd.Who, DryRun: cmd.DryRun, Country: cmd.Country,
		Idempotency: cmd.Idempotency}}
	if err := i.begin(ctx); err != nil {
		g.leave()
		return campaign.Import{}, err
	}
	format := contactlist.Format{Mapping: cmd.Mapping, Country: cmd.Country, Encoding: cmd.Encoding,
		Delimiter: cmd.Delimiter}
	if err := i.stage(ctx, contactlist.NewMappedReader(file, format, i.d.Clock.Now())); err != nil {
		defer g.leave()
		if ctx.Err() != nil {
			err = errClosing // no caller waits any more, whatever failed
		}
		i.fail(err)
		i.close()
		return i.imp, err
	}
	i.imp.State = campaign.ImportActivating
	settled := make(chan settledImport, 1)
	staged := i.imp
	go func() {
		defer g.leave()
		if cmd.DryRun {
			i.check(settled)
			return
		}
		i.activate(settled)
	}()
	if !cmd.Wait {
		return staged, nil
	}
	select {
	case s := <-settled:
		return s.imp, s.err
	case <-ctx.Done():
		return staged, errUnsettled
	}
}

type settledImport struct {
	imp campaign.Import
	err error
}

var (
	errClosing   = engine.Unavailable("closing", "", time.Second)
	errUnsettled = engine.Unavailable("import_unsettled",
		"", 2*time.Second)
	errEmptyFile = engine.Invalid("empty_file", "The file has no rows after its first line.")
)

// begin asks the campaign and begins the import.
func (i *importing) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, i.d.Timeout)
	defer cancel()
	var err error
	if i.terms, err = askAbout[core.ImportTerms](ctx, i, &core.MayImport{}); err != nil {
		return err
	}
	return unavailable(i.d.Store.BeginImport(ctx, i.imp))
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return journal.Unavailable(err)
}

// --- staging -----------------------------------------------------------------

// stage reads the file to its end.
func (i *importing) stage(ctx context.Context, in *contactlist.Reader) error {
	for {
		row, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		i.take(row)
		if len(i.rows)+len(i.rejected) >= chunkRows || i.bytes >= chunkBytes {
			if err := i.flush(ctx); err != nil {
				return err
			}
		}
	}
	if i.imp.Rows == 0 {
		return errEmptyFile
	}
	if err := i.flush(ctx); err != nil {
		return err
	}
	i.rows, i.rejected = nil, nil
	i.imp.FileLayout = in.Layout()
	return nil
}

func (i *importing) take(row contactlist.Row) {
	i.imp.Rows++
	if row.Reason == "" {
		err := i.d.Destinations.Judge(row.Number, "")
		for n := range row.Alternates.Numbers() {
			err = cmp.Or(err, i.d.Destinations.Judge(n, ""))
		}
		if err != nil {
			row.Reason, row.Message = engine.ErrorCode(err), engine.ErrorDetail(err)
		}
	}
	if row.Reason != "" {
		i.imp.Invalid++
		i.rejected = append(i.rejected, campaign.RejectedRow{Line: row.Line, Number: row.Given, Reason: row.Reason,
			Message: row.Message, Record: row.Record})
		i.bytes += len(row.Record)
		return
	}
	i.staged++
	i.bytes += len(row.Record)
	for k, v := range row.Variables {
		i.bytes += len(k) + len(v)
	}
	i.rows = append(i.rows, journal.StagedRow{ID: engine.ContactID(host.NewID(i.imp.CreatedAt)), Line: row.Line,
		NewContact: campaign.NewContact{Number: row.Number, Alternates: row.Alternates, Variables: row.Variables,
			Times: row.Times}, Record: row.Record})
}

func (i *importing) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*i.d.Timeout)
	defer cancel()
	err := i.d.Store.StageImport(ctx, i.imp.ID, i.rows, i.rejected, i.imp.Rows, i.imp.Invalid)
	clear(i.rows)
	i.rows, i.rejected, i.bytes = i.rows[:0], i.rejected[:0], 0
	return unavailable(err)
}

// check reports what the switch would do.
func (i *importing) check(settled chan<- settledImport) {
	ctx, cancel := context.WithTimeout(i.d.Ctx, i.patience())
	defer cancel()
	imp, err := i.d.Store.CheckImport(ctx, journal.Check{Import: i.imp.ID, Campaign: i.imp.Campaign, Staged: i.staged,
		Sticky: i.terms.Sticky, Since: i.imp.CreatedAt, At: i.d.Clock.Now(), Layout: i.imp.FileLayout})
	if err != nil {
		err = journal.Unavailable(err)
		i.fail(err)
		imp = i.imp
	}
	i.close()
	settled <- settledImport{imp, err}
}

// --- the switch --------------------------------------------------------------

// activate turns the staged rows into contacts, then tells the run and the waiting caller.
func (i *importing) activate(settled chan<- settledImport) {
	out, err := i.swap()
	if err != nil {
		out, err = i.settle(err, settled)
	}
	if err != nil {
		i.tell(&core.ActivationEnded{Import: i.imp.ID})
		i.d.Log.Info().Str("campaign_id", string(i.imp.Campaign)).Str("code", engine.ErrorCode(err)).
			Msg("file not imported")
	} else {
		i.tell(&core.ActivationEnded{Import: i.imp.ID, Done: true, Epoch: i.epoch, Event: i.event, Out: out})
		i.d.Log.Info().Str("campaign_id", string(i.imp.Campaign)).Int("rows", out.Import.Rows).
			Int("added", out.Import.Added).Msg("file imported")
	}
	i.close()
	select {
	case settled <- settledImport{out.Import, err}:
	default: // already answered: outcome unknown
	}
}

// swap runs the switch's transaction between the run's two answers.
func (i *importing) swap() (out journal.Activated, err error) {
	d := i.d
	ctx, cancel := context.WithTimeout(d.Ctx, i.patience())
	defer cancel()
	start, err := askAbout[core.ActivationStart](ctx, i, &core.BeginActivation{Import: i.imp.ID})
	if err != nil {
		return out, err
	}
	stop := i.pulse(ctx)
	defer stop()
	what := start.Activation(&i.imp, i.staged)
	return d.Store.ActivateImport(ctx, what, func(ctx context.Context) (journal.Gate, error) {
		ctx, cancel := context.WithTimeout(ctx, gateTimeout)
		defer cancel()
		pass, err := askAbout[core.GatePass](ctx, i, &core.CloseGate{Import: i.imp.ID, Run: start.Run})
		if err != nil {
			return journal.Gate{}, err
		}
		g := pass.Gate(&i.imp, start)
		i.gated, i.epoch, i.event = true, g.Epoch, g.Event
		return g, nil
	})
}

// patience bounds the switch: more rows may take longer, even on slow disks.
func (i *importing) patience() time.Duration {
	return i.d.ActivateTimeout + time.Duration(i.staged)*200*time.Microsecond
}

// pulse repeatedly tells the run that the switch is in progress.
func (i *importing) pulse(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(activationPulse)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				i.tell(&core.ActivationGoesOn{Import: i.imp.ID})
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// settle determines the outcome of a switch that returned an error. Before the gate nothing can
// have been committed; after it, the database is asked until it answers, while the run still holds
// back everything that could miss the rows.
func (i *importing) settle(cause error, settled chan<- settledImport) (out journal.Activated, err error) {
	cause = journal.Unavailable(cause)
	if errors.Is(cause, journal.ErrStaleEpoch) {
		cause = engine.Unavailable("import_unknown",
			"", time.Second)
	}
	if !i.gated {
		i.fail(cause)
		return journal.Activated{Import: i.imp}, cause
	}
	late := time.AfterFunc(settleTimeout, func() {
		select {
		case settled <- settledImport{i.imp, errUnsettled}:
		default:
		}
	})
	defer late.Stop()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		imp, err := i.verdict(cause)
		if err == nil && imp.State == campaign.ImportActive {
			return journal.Activated{Import: imp}, nil
		}
		if err == nil || engine.ErrorCode(err) == "import_not_found" {
			i.imp = imp
			return journal.Activated{Import: imp}, cause
		}
		select {
		case <-i.d.Ctx.Done():
			return journal.Activated{Import: i.imp}, cause
		case <-time.After(wait):
		}
	}
}

// verdict fails the import unless it is active. It waits for a commit still in progress in the
// server; after that the outcome is final.
func (i *importing) verdict(cause error) (campaign.Import, error) {
	ctx, cancel := context.WithTimeout(i.d.Ctx, i.d.Timeout)
	defer cancel()
	if err := i.d.Store.FailImport(ctx, i.imp.ID, problemOf(cause), i.d.Clock.Now()); err != nil {
		return i.imp, err
	}
	return i.d.Store.Import(ctx, i.imp.ID)
}

// --- ends --------------------------------------------------------------------

func problemOf(err error) campaign.ImportProblem {
	var e *engine.Error
	if errors.As(err, &e) {
		return campaign.ImportProblem{Code: e.Code, Detail: e.Detail}
	}
	return campaign.ImportProblem{Code: "upload_broken",
		Detail: "The upload ended before the file did; nothing was added."}
}

// fail records why the import failed. If the database does not accept that, the search for imports
// without an owner does it later.
func (i *importing) fail(cause error) {
	ctx, cancel := i.ending()
	defer cancel()
	now := i.d.Clock.Now()
	p := problemOf(cause)
	i.imp.State, i.imp.FinishedAt, i.imp.Problem = campaign.ImportFailed, &now, &p
	if err := i.d.Store.FailImport(ctx, i.imp.ID, p, now); err != nil {
		i.d.Log.Warn().Err(err).Str("campaign_id", string(i.imp.Campaign)).
			Msg("could not store the end of an import; it will be found later")
	}
}

func (i *importing) close() {
	ctx, cancel := i.ending()
	defer cancel()
	if err := i.d.Store.CloseImport(ctx, i.imp.ID); err != nil {
		i.d.Log.Warn().Err(err).Str("campaign_id", string(i.imp.Campaign)).
			Msg("staged rows were not removed; they will be later")
	}
}

// ending returns a context for an import's final writes, which also work while the tree closes.
func (i *importing) ending() (context.Context, context.CancelFunc) {
	wait := i.d.Timeout
	if i.d.Ctx.Err() != nil {
		wait = time.Second
	}
	return context.WithTimeout(context.WithoutCancel(i.d.Ctx), wait)
}

// --- the run -----------------------------------------------------------------

// tell sends the run a message without an answer.
func (i *importing) tell(msg any) {
	i.d.Root.Send(i.guardian, &ForCampaign{Campaign: i.imp.Campaign, Msg: msg})
}

// askAbout asks the run and waits until ctx ends. A restarted run has forgotten the question, so it
// is asked again. The run never waits, and nobody has to be there to take its answer.
func askAbout[T any](ctx context.Context, i *importing, question any) (T, error) {
	var zero T
	left := importWait
	if dl, ok := ctx.Deadline(); ok {
		left = time.Until(dl)
	}
	f := i.d.Future(max(left, time.Millisecond))
	answered := make(chan *host.Answer, 1)
	go func() {
		res, _ := f.Result()
		a, _ := res.(*host.Answer)
		answered <- a
	}()
	again := time.NewTicker(activationPulse)
	defer again.Stop()
	late := engine.Unavailable("timeout", "the campaign did not answer in time; nothing was added", time.Second)
	for {
		i.d.Root.RequestWithCustomSender(i.guardian, &ForCampaign{Campaign: i.imp.Campaign, Msg: question}, f.PID())
		select {
		case a := <-answered:
			switch {
			case a == nil:
				return zero, late
			case a.Err != nil:
				return zero, a.Err
			}
			v, _ := a.Value.(T)
			return v, nil
		case <-again.C:
		case <-ctx.Done():
			f.PID() // it expires by itself
			return zero, late
		}
	}
}

// importWait bounds a question that has no deadline of its own.
const importWait = time.Hour

// Imports runs the file imports. It counts those in progress, so that Close can wait for them.
type Imports struct {
	d        *Deps
	guardian *actor.PID

	mu     sync.Mutex
	closed bool
	under  sync.WaitGroup
}

// NewImports returns the imports for a guardian's campaigns.
func NewImports(d *Deps, guardian *actor.PID) *Imports { return &Imports{d: d, guardian: guardian} }

func (g *Imports) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.under.Add(1)
	return true
}

func (g *Imports) leave() { g.under.Done() }

// Close admits no new imports and waits for those in progress.
func (g *Imports) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.under.Wait()
}
