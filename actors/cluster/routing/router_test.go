package routing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/attempt"
	calls "dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/enginetest"
	"dialler/engine/journal"
	"dialler/engine/ownership"
	"dialler/engine/window"
)

const theCampaign = engine.CampaignID("cmp_1")

// net is a cluster of two nodes, one of which owns every campaign.
type net struct {
	former engine.Incarnation // its lease goes on though its process is gone
	mu     sync.Mutex
	owner  engine.Incarnation
	sides  map[engine.Incarnation]*side
	gone   map[engine.Incarnation]bool // unreachable
	dead   map[engine.Incarnation]bool // without a lease
}

// side is one node.
type side struct {
	net      *net
	id       engine.Incarnation
	handlers map[string]Handler
	tree     *tree
	router   *Router
	asked    []string                                // methods asked of the other side
	carries  map[engine.AttemptID]engine.Incarnation // local calls, and who acts for them
}

func newNet() (n *net, one, two *side) {
	n = &net{owner: 1, sides: map[engine.Incarnation]*side{}, gone: map[engine.Incarnation]bool{},
		dead: map[engine.Incarnation]bool{}}
	for _, id := range []engine.Incarnation{1, 2, 3} {
		s := &side{net: n, id: id, handlers: map[string]Handler{}, carries: map[engine.AttemptID]engine.Incarnation{},
			tree: &tree{name: fmt.Sprint("node ", id), has: map[engine.AttemptID]bool{}}}
		s.router = New(s.tree, s, s.tree, s, zerolog.Nop())
		n.sides[id] = s
	}
	return n, n.sides[1], n.sides[2]
}

func (s *side) claim() ownership.Owner {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	return ownership.Owner{Incarnation: s.net.owner, Live: true}
}

func (s *side) Owner(context.Context, ownership.Identity) (ownership.Owner, error) {
	return s.claim(), nil
}

func (s *side) Acting(context.Context, ownership.Identity) (ownership.Owner, bool, error) {
	w := s.claim()
	return w, w.Incarnation != 0, nil
}

func (s *side) OwnersOf(_ context.Context, kind ownership.Kind, ids []string) (all []ownership.Owner, err error) {
	for _, id := range ids {
		w := s.claim()
		w.Identity, w.Live = ownership.Identity{Kind: kind, ID: id}, id == string(theCampaign)
		all = append(all, w)
	}
	return all, nil
}

func (s *side) Owned(ownership.Identity) (ownership.Owner, bool) {
	w := s.claim()
	return w, w.Incarnation == s.id
}

func (s *side) Handle(method string, h Handler) { s.handlers[method] = h }

func (s *side) Ask(ctx context.Context, id ownership.Identity, method string, body []byte) ([]byte, error) {
	if id.Kind != ownership.Campaign || id.ID == "" {
		return nil, fmt.Errorf("asked of %v", id)
	}
	s.asked = append(s.asked, method)
	return s.net.sides[s.claim().Incarnation].handlers[method](ctx, s.id, ownership.Owner{}, bytes.Clone(body))
}

func (s *side) AskNode(ctx context.Context, to engine.Incarnation, method string, body []byte) ([]byte, error) {
	s.asked = append(s.asked, method)
	other := s.net.sides[to]
	switch {
	case other == nil:
		return nil, engine.NotFound("node_not_found", "it was never there")
	case s.net.gone[to]:
		return nil, errAway
	}
	return other.handlers[method](ctx, s.id, ownership.Owner{}, bytes.Clone(body))
}

var errAway = engine.Unavailable("owner_unreachable", "it cannot be reached", time.Second)

func (s *side) Was(id engine.Incarnation) bool { return id == s.id }

func (s *side) Live(_ context.Context, id engine.Incarnation) (bool, error) {
	return (s.net.sides[id] != nil || id == s.net.former) && !s.net.dead[id], nil
}

func (s *side) OwnerOf(id engine.AttemptID) (engine.Incarnation, bool) {
	n, ok := s.carries[id]
	return n, ok
}

// tree records what it is told.
type tree struct {
	name string
	mu   sync.Mutex
	got  []any
	err  error
	has  map[engine.AttemptID]bool
	of   engine.CampaignID // of every attempt
	rows map[engine.AttemptID]attempt.Attempt
	file []byte
	imp  func(file io.Reader) error
}

func (t *tree) note(cmd any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.got = append(t.got, cmd)
	return t.err
}

func (t *tree) Act(_ context.Context, cmd campaign.Act) (campaign.Detail, error) {
	return aDetail(), t.note(cmd)
}

func (t *tree) Detail(_ context.Context, id engine.CampaignID) (campaign.Detail, error) {
	return aDetail(), t.note(id)
}

func (t *tree) DetailIfUp(_ context.Context, id engine.CampaignID) (campaign.Detail, bool, error) {
	return aDetail(), true, t.note(id)
}

func (t *tree) Preflight(_ context.Context, id engine.CampaignID) (campaign.Readiness, error) {
	return enginetest.Filled[campaign.Readiness](), t.note(id)
}

func (t *tree) AddContacts(_ context.Context, cmd campaign.AddContacts) (campaign.AddReport, error) {
	return enginetest.Filled[campaign.AddReport](), t.note(cmd)
}

func (t *tree) AddBatch(_ context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error) {
	return enginetest.Filled[campaign.BatchReply](), t.note(cmd)
}

func (t *tree) UndoImport(_ context.Context, cmd campaign.UndoImport) (campaign.ImportUndo, error) {
	return enginetest.Filled[campaign.ImportUndo](), t.note(cmd)
}

func (t *tree) Trigger(_ context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	return enginetest.Filled[campaign.TriggerReply](), t.note(cmd)
}

func (t *tree) Exclude(_ context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error) {
	return enginetest.Filled[campaign.ExcludeReply](), t.note(cmd)
}

func (t *tree) ActOnContact(_ context.Context, cmd campaign.ActOnContact) error { return t.note(cmd) }

func (t *tree) ExclusionsImported(_ context.Context, cmd campaign.ExclusionsImported) error {
	return t.note(cmd)
}

func (t *tree) Lift(_ context.Context, cmd campaign.Lift) (campaign.LiftReply, error) {
	return enginetest.Filled[campaign.LiftReply](), t.note(cmd)
}

func (t *tree) Dialout(_ context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error) {
	return enginetest.Filled[campaign.DialoutReply](), t.note(cmd)
}

func (t *tree) Has(id engine.AttemptID) bool { return t.has[id] }

func (t *tree) Call(_ context.Context, id engine.CallID) (attempt.Attempt, error) {
	return enginetest.Filled[attempt.Attempt](), t.note(id)
}

func (t *tree) Live(_ context.Context, a attempt.Attempt) attempt.Attempt {
	_ = t.note(a)
	a.From = engine.PhoneNumber(t.name)
	return a
}

func (t *tree) SubmitResult(_ context.Context, cmd campaign.SubmitResult) error { return t.note(cmd) }

// hungUp is what a tree notes of a hang-up.
type hungUp struct {
	call engine.CallID
	who  engine.Who
}

func (t *tree) HangUp(_ context.Context, id engine.CallID, who engine.Who) error {
	return t.note(hungUp{id, who})
}

func (t *tree) CancelDialout(_ context.Context, cmd campaign.CancelDialout) error { return t.note(cmd) }

func (t *tree) SendDigits(_ context.Context, id engine.CallID, digits string) error {
	return t.note(string(id) + digits)
}

func (t *tree) Transfer(_ context.Context, id engine.CallID, to string) error {
	return t.note(string(id) + to)
}

func (t *tree) Attempt(_ context.Context, id engine.AttemptID) (attempt.Attempt, bool, error) {
	if a, ok := t.rows[id]; ok {
		return a, true, nil
	}
	return attempt.Attempt{ID: id, Campaign: t.of}, t.of != "", nil
}

func (t *tree) Import(_ context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	if err := t.note(cmd); err != nil {
		return campaign.Import{}, err
	}
	if t.imp != nil {
		if err := t.imp(file); err != nil {
			return enginetest.Filled[campaign.Import](), err
		}
	}
	got, err := io.ReadAll(file)
	t.mu.Lock()
	t.file = got
	t.mu.Unlock()
	return enginetest.Filled[campaign.Import](), err
}

var aWindow = window.Window{Start: 9 * 60, End: 18 * 60, Zone: "Europe/Berlin", Days: []window.Day{"Mon", "Tue"},
	Holidays: []window.Date{{Year: 2030, Month: 5, Day: 9}}, ContactZone: true}

// aDetail has every field set, and its windows to valid values.
func aDetail() campaign.Detail {
	d := enginetest.Filled[campaign.Detail]()
	d.Campaign.Settings.Window = aWindow
	d.Campaign.Previous.Settings.Window = aWindow
	return d
}

// theCall is a call's identifier.
func theCall() (engine.CallID, engine.AttemptID) {
	a := engine.AttemptID("0190a1b2c3d47e5f8a9b0c1d2e3f4a5b")
	return a.Call(), a
}

// Any request at a node that does not own the campaign arrives unchanged at the owner, and so does
// the reply.
func TestCommandsAndRepliesPassTheWireWhole(t *testing.T) {
	call, _ := theCall()
	act := enginetest.Filled[campaign.Act]()
	act.Settings.Window = aWindow
	add := enginetest.Filled[campaign.AddContacts]()
	batch := enginetest.Filled[campaign.AddBatch]()
	batch.Campaign = theCampaign
	trigger := enginetest.Filled[campaign.Trigger]()
	undo := enginetest.Filled[campaign.UndoImport]()
	undo.Campaign = theCampaign
	exclude := enginetest.Filled[campaign.Exclude]()
	lift := enginetest.Filled[campaign.Lift]()
	lift.Campaign = theCampaign
	noted := enginetest.Filled[campaign.ExclusionsImported]()
	noted.Campaign = theCampaign
	result := enginetest.Filled[campaign.SubmitResult]()
	one := enginetest.Filled[campaign.ActOnContact]()
	one.Campaign = theCampaign
	act.Campaign, add.Campaign, trigger.Campaign, exclude.Campaign, result.Call =
		theCampaign, theCampaign, theCampaign, theCampaign, call
	for name, c := range map[string]struct {
		ask         func(ctx context.Context, r *Router) (any, error)
		told, reply any
	}{
		"act": {func(ctx context.Context, r *Router) (any, error) { return r.Act(ctx, act) }, act, aDetail()},
		"detail": {func(ctx context.Context, r *Router) (any, error) { return r.Detail(ctx, theCampaign) },
			theCampaign, aDetail()},
		"detail_if_up": {func(ctx context.Context, r *Router) (any, error) {
			d, up, err := r.DetailIfUp(ctx, theCampaign)
			return detailIfUp{d, up}, err
		}, theCampaign, detailIfUp{aDetail(), true}},
		"preflight": {func(ctx context.Context, r *Router) (any, error) { return r.Preflight(ctx, theCampaign) },
			theCampaign, enginetest.Filled[campaign.Readiness]()},
		"add_contacts": {func(ctx context.Context, r *Router) (any, error) { return r.AddContacts(ctx, add) }, add,
			enginetest.Filled[campaign.AddReport]()},
		"add_batch": {func(ctx context.Context, r *Router) (any, error) { return r.AddBatch(ctx, batch) }, batch,
			enginetest.Filled[campaign.BatchReply]()},
		"undo_import": {func(ctx context.Context, r *Router) (any, error) { return r.UndoImport(ctx, undo) }, undo,
			enginetest.Filled[campaign.ImportUndo]()},
		"trigger": {func(ctx context.Context, r *Router) (any, error) { return r.Trigger(ctx, trigger) }, trigger,
			enginetest.Filled[campaign.TriggerReply]()},
		"act_on_contact": {func(ctx context.Context, r *Router) (any, error) { return nil, r.ActOnContact(ctx, one) }, one,
			nil},
		"exclude": {func(ctx context.Context, r *Router) (any, error) { return r.Exclude(ctx, exclude) }, exclude,
			enginetest.Filled[campaign.ExcludeReply]()},
		"call": {func(ctx context.Context, r *Router) (any, error) { return r.Call(ctx, call) }, call,
			enginetest.Filled[attempt.Attempt]()},
		"lift": {func(ctx context.Context, r *Router) (any, error) { return r.Lift(ctx, lift) }, lift,
			enginetest.Filled[campaign.LiftReply]()},
		"exclusions_imported": {func(ctx context.Context, r *Router) (any, error) {
			return nil,
				r.ExclusionsImported(ctx, noted)
		},
			noted, nil},
		"submit_result": {func(ctx context.Context, r *Router) (any, error) { return nil, r.SubmitResult(ctx, result) },
			result, nil},
		"hang_up": {func(ctx context.Context, r *Router) (any, error) {
			return nil, r.HangUp(ctx, call, engine.Who{User: "u1"})
		}, hungUp{call, engine.Who{User: "u1"}}, nil},
		"digits": {func(ctx context.Context, r *Router) (any, error) { return nil, r.SendDigits(ctx, call, "12#") },
			string(call) + "12#", nil},
		"transfer": {func(ctx context.Context, r *Router) (any, error) { return nil, r.Transfer(ctx, call, "sip:a@b") },
			string(call) + "sip:a@b", nil},
	} {
		for _, owner := range []engine.Incarnation{1, 2} {
			n, one, two := newNet()
			one.tree.of, n.owner = theCampaign, owner
			reply, err := c.ask(t.Context(), one.router)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !reflect.DeepEqual(reply, c.reply) {
				t.Errorf("%s owned by %d: reply\n%+v, want\n%+v", name, owner, reply, c.reply)
			}
			here, there := one.tree.got, two.tree.got
			if owner == 2 {
				here, there = there, here
			}
			if len(here) != 1 || len(there) != 0 || !reflect.DeepEqual(here[0], c.told) {
				t.Errorf("%s owned by %d: told\n%+v, want\n%+v; the other node was told %+v", name, owner, here, c.told, there)
			}
			if asked := len(one.asked) > 0; asked != (owner == 2) {
				t.Errorf("%s owned by %d: another node was asked: %v", name, owner, asked)
			}
		}
	}
}

// Zero, nil and empty stay distinct: a rate of 0 is not an unknown one.
func TestZeroAndNilAreNotConfused(t *testing.T) {
	var zero float64
	for _, d := range []campaign.Detail{
		{},
		{Counters: campaign.Counters{AnswerRate: &zero, States: nil}},
		{Live: &campaign.Live{}},
	} {
		var got campaign.Detail
		if err := link.Decode(link.Encode(&d), &got); err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%+v, want %+v (%v)", got, d, err)
		}
	}
}

func TestACampaignThatNobodyActsForIsNotUp(t *testing.T) {
	n, one, _ := newNet()
	n.owner = 0
	if _, up, err := one.router.DetailIfUp(t.Context(), theCampaign); up || err != nil || len(one.asked) > 0 {
		t.Errorf("up %v, %v, asked %v", up, err, one.asked)
	}
}

func TestWhoActsForManyIsOneQuestion(t *testing.T) {
	_, one, _ := newNet()
	acting, err := one.router.ActingFor(t.Context(), []engine.CampaignID{"cmp_0", theCampaign})
	if err != nil || !reflect.DeepEqual(acting, map[engine.CampaignID]bool{"cmp_0": false, theCampaign: true}) {
		t.Errorf("%v, %v", acting, err)
	}
}

func TestAnErrorOfTheOwnerIsTheCallers(t *testing.T) {
	n, one, two := newNet()
	n.owner = 2
	two.tree.err = engine.Conflict("not_running", "the campaign does not run")
	if _, err := one.router.Trigger(t.Context(), campaign.Trigger{Campaign: theCampaign}); !errors.Is(err, two.tree.err) {
		t.Errorf("%v", err)
	}
}

// A node that has just lost the campaign asks its next owner.
func TestACommandFollowsTheCampaignToItsNextOwner(t *testing.T) {
	for _, why := range []error{ownership.ErrNotOwner,
		journal.ErrStaleEpoch} { // or has not heard of it, and the database has
		n, one, two := newNet()
		one.tree.err = why
		one.router.tree = lost{one.tree, func() { n.mu.Lock(); n.owner = 2; n.mu.Unlock() }}
		if _, err := one.router.Trigger(t.Context(), campaign.Trigger{Campaign: theCampaign}); err != nil {
			t.Fatal(err)
		}
		if len(two.tree.got) != 1 {
			t.Errorf("the next owner was told %v", two.tree.got)
		}
	}
}

// A node that is asked as a former owner says so, and is not asked again.
func TestAnOwnerWhoseWriteIsRefusedIsNotTheOwner(t *testing.T) {
	n, one, two := newNet()
	n.owner = 2
	two.tree.err = journal.ErrStaleEpoch
	if _, err := one.router.Trigger(t.Context(), campaign.Trigger{Campaign: theCampaign}); !errors.Is(err,
		ownership.ErrNotOwner) {
		t.Errorf("%v", err)
	}
}

// lost loses its campaigns to the other node when it is asked.
type lost struct {
	*tree
	lose func()
}

func (l lost) Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	l.lose()
	return l.tree.Trigger(ctx, cmd)
}

func (l lost) SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error {
	l.lose()
	return l.tree.SubmitResult(ctx, cmd)
}

func (l lost) HangUp(ctx context.Context, id engine.CallID, who engine.Who) error {
	l.lose()
	return l.tree.HangUp(ctx, id, who)
}

// The node that had the call forwards a bot's result to the campaign's next owner, because a bot
// does not repeat a refused result.
func TestACallIsAskedOfTheNextOwnerWhoseNodeHadItsActor(t *testing.T) {
	call, id := theCall()
	for _, why := range []error{ownership.ErrNotOwner, journal.ErrStaleEpoch} {
		for what, ask := range map[string]func(*Router) error{
			"result":  func(r *Router) error { return r.SubmitResult(t.Context(), campaign.SubmitResult{Call: call}) },
			"hang-up": func(r *Router) error { return r.HangUp(t.Context(), call, engine.Who{}) },
		} {
			n, one, two := newNet()
			one.tree.has[id], one.tree.of, one.tree.err = true, theCampaign, why
			one.router.tree = lost{one.tree, func() { n.mu.Lock(); n.owner = 2; n.mu.Unlock() }}
			if err := ask(one.router); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if len(two.tree.got) != 1 {
				t.Errorf("%s: the next owner was told %v", what, two.tree.got)
			}
		}
	}
}

// A call outside campaigns has no owner that could be asked until its row names one: the result is kept, the command
// can be tried again.
func TestADialoutThatAnotherNodeHasSinceIsAskedLater(t *testing.T) {
	at, id := theCall()
	for _, here := range []bool{true, false} {
		_, one, two := newNet()
		one.tree.rows = map[engine.AttemptID]attempt.Attempt{id: {ID: id, Node: 2, State: attempt.Connected}}
		one.tree.has[id], one.tree.err, two.tree.err = here, journal.ErrStaleEpoch, journal.ErrStaleEpoch
		err := one.router.SubmitResult(t.Context(), campaign.SubmitResult{Call: at})
		if !errors.Is(err, calls.ErrBeingClosed) {
			t.Errorf("actor here %v: %v", here, err)
		}
	}
}

func TestALiveCallIsAskedOfWhoeverHasIt(t *testing.T) {
	n, one, two := newNet()
	n.owner = 2
	_, id := theCall()
	a := attempt.Attempt{ID: id, Campaign: theCampaign, State: attempt.Ringing}
	if got := one.router.Live(t.Context(), a); string(got.From) != "node 2" {
		t.Errorf("answered by %s", got.From)
	}
	one.tree.has[id] = true // it is here after all
	if got := one.router.Live(t.Context(), a); string(got.From) != "node 1" {
		t.Errorf("answered by %s", got.From)
	}
	one.tree.has[id] = false
	for _, a := range []attempt.Attempt{{ID: id, Campaign: theCampaign, State: attempt.Ended}} {
		if got := one.router.Live(t.Context(), a); string(got.From) != "node 1" {
			t.Errorf("%+v is answered by %s", a, got.From)
		}
	}
	if len(two.tree.got) != 1 {
		t.Errorf("the owner was asked %d times", len(two.tree.got))
	}
}

func TestAFileGoesToTheOwnerInPieces(t *testing.T) {
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 5*pieceSize + 17} {
		n, one, two := newNet()
		n.owner = 2
		file := []byte(strings.Repeat("0123456789abcdef", size/16+1)[:size])
		imp, err := one.router.Import(t.Context(), campaign.ImportContacts{Campaign: theCampaign, Filename: "x.csv"},
			bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(two.tree.file, file) || !reflect.DeepEqual(imp, enginetest.Filled[campaign.Import]()) {
			t.Errorf("%d bytes: %d came, import %+v", size, len(two.tree.file), imp)
		}
		if n := two.router.uploads.count(); n != 0 {
			t.Errorf("%d uploads are left", n)
		}
	}
}

func TestAFileThatIsNotWantedIsNotReadToItsEnd(t *testing.T) {
	n, one, two := newNet()
	n.owner = 2
	full := engine.Conflict("import_in_progress", "another import is under way")
	two.tree.imp = func(file io.Reader) error {
		_, _ = io.ReadFull(file, make([]byte, 10))
		return full
	}
	endless := &counting{}
	_, err := one.router.Import(t.Context(), campaign.ImportContacts{Campaign: theCampaign}, endless)
	if !errors.Is(err, full) || endless.n > 4*pieceSize {
		t.Errorf("%v after %d bytes", err, endless.n)
	}
}

// counting is an endless file.
type counting struct{ n int }

func (c *counting) Read(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

func TestAFileThatBreaksOffIsNobodysContacts(t *testing.T) {
	n, one, two := newNet()
	n.owner = 2
	broken := errors.New("the client went away")
	file := io.MultiReader(strings.NewReader(strings.Repeat("x", 3*pieceSize)), failing{broken})
	if _, err := one.router.Import(t.Context(), campaign.ImportContacts{Campaign: theCampaign}, file); !errors.Is(err,
		broken) {
		t.Errorf("%v, want the reader's own error", err)
	}
	for _, u := range two.router.uploads.all() {
		<-u.done
		if !errors.Is(u.err, errCutShort) {
			t.Errorf("the owner's import ended with %v", u.err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// The node that sent a file is gone: the owner does not wait forever.
func TestAFileWithoutItsNextPieceIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, one, _ := newNet()
		if _, err := one.router.take(t.Context(), piece{Upload: "u",
			Begin: &campaign.ImportContacts{Campaign: theCampaign}}); err != nil {
			t.Fatal(err)
		}
		u := one.router.uploads.of("u")
		time.Sleep(uploadIdle + time.Second) // virtual
		<-u.done
		if !errors.Is(u.err, errCutShort) {
			t.Errorf("ended with %v", u.err)
		}
		time.Sleep(uploadIdle + time.Second) // virtual
		if _, err := one.router.take(t.Context(), piece{Upload: "u", Last: true}); !errors.Is(err, errUploadLost) {
			t.Errorf("a late piece is answered %v", err)
		}
	})
}

func TestNoMoreFilesAreTakenThanMayBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, one, _ := newNet()
		for i := range uploadsCap + 1 {
			_, err := one.router.take(t.Context(), piece{Upload: fmt.Sprint(i),
				Begin: &campaign.ImportContacts{Campaign: theCampaign}})
			if (err != nil) != (i == uploadsCap) {
				t.Errorf("file %d: %v", i, err)
			}
		}
		time.Sleep(3 * uploadIdle) // virtual: uploads are given up
		if n := one.router.uploads.count(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

func (u *uploads) all() []*upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Values(u.open))
}

func (u *uploads) count() int { return len(u.all()) }
