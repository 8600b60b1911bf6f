package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This file defines which package may import which: engine decides, actors execute, adapters access
// the outside world. docs/architecture.md explains the table.

const module = "dialler"

// importRule says what the non-test files of one folder, and of every folder below it without its
// own rule, may import in addition to the standard library.
//
// An entry of ours is a package of this module; one that ends in /... is the package and everything
// below it. An entry of third is a module, or a path within one.
type importRule struct {
	dir    string
	ours   []string
	third  []string
	core   bool // the rules of coreImports, coreTime and coreSyntax apply too
	remedy string
}

const (
	anything      = "*"
	adapterRemedy = "an adapter speaks only engine's words: take what you need as a parameter or through an interface " +
		"of your own, and let process connect the two"
	resourceRemedy = "a resource knows what is below it, and others " +
		"only where the row says so: declare a port, and let package http bring the rest"
	nounRemedy = "a noun of the database knows the tables and no other noun: what two need belongs in " +
		"persistence/table, and Store joins them"
)

var importRules = []importRule{
	{dir: ".", ours: []string{"command"},
		remedy: "main only starts command"},
	{dir: "command/...",
		ours: []string{
			"process",
			"process/configfile",
			"process/keys",
			"engine/...",
			"actors",
			"http/access",
			"media/recording",
			"persistence",
			"bench/...",
			"command/verifier",
		},
		third:  []string{"github.com/alecthomas/kong", "go.yaml.in/yaml/v3", "github.com/rs/zerolog"},
		remedy: "a command asks process for a running dialler, or for what it needs of one"},
	{dir: "command/verifier/...",
		ours:   []string{"command/verifier", "engine", "engine/evidence", "engine/seal"},
		remedy: "who checks a record reads this program first: it knows no database, no calls and no network"},
	{dir: "process", // a new package below needs a row of its own
		ours: []string{"engine/...", "actors/...", "sipstack", "media/...", "http/...", "persistence/...",
			"process/..."},
		third: []string{"github.com/prometheus/client_golang", "github.com/rs/zerolog",
			"golang.org/x/sys"}, // the boot-time clock
		remedy: "process wires the adapters and the tree; what it is told comes in as Flags, and models of peers are for " +
			"commands and tests"},
	{dir: "process/configfile",
		ours: []string{"engine/...", "sipstack"}, third: []string{"go.yaml.in/yaml/v3"},
		remedy: "the file is read without a running dialler: who applies it passes a store"},
	{dir: "process/flights",
		ours:   []string{"engine", "engine/flight", "engine/run"},
		third:  []string{"github.com/rs/zerolog"},
		remedy: "the folder of recordings knows files; what is in them, engine/flight says"},
	{dir: "process/keys",
		ours:   []string{"engine/...", "persistence/sealed"},
		remedy: "keys are files and environment: which ones, the caller says"},
	{dir: "process/nat",
		third:  []string{"github.com/pion/stun/v3", "github.com/rs/zerolog"},
		remedy: "an external address is found by asking: who names it to others, process connects"},
	{dir: "process/outgoing",
		ours:   []string{"engine/...", "http/egress", "persistence/webhooks"}, // the metrics of its outbox
		third:  []string{"github.com/prometheus/client_golang"},
		remedy: "a request to others is made when it is called: who sends what, the caller knows"},
	{dir: "process/witness",
		ours:   []string{"engine/...", "http/egress"},
		third:  []string{"github.com/prometheus/client_golang", "github.com/rs/zerolog"},
		remedy: "a witness is shown what it is given: where seals and receipts are, its port knows"},
	{dir: "process/metrics",
		ours:   []string{"engine/...", "actors/...", "http", "media/...", "persistence/spool", "sipstack"},
		third:  []string{"github.com/prometheus/client_golang"},
		remedy: "figures are read from Sources: a part that not every dialler has brings its own collectors"},

	{dir: "engine", core: true,
		remedy: "the vocabulary stands below everything: put the rule into a package below engine/"},
	{dir: "engine/fsm", core: true,
		remedy: "the transition table knows no particular machine: pass what it needs in the table"},
	{dir: "engine/enginetest/...",
		ours: []string{"engine"}, third: []string{"pgregory.net/rapid"},
		remedy: "only tests import it: it makes values, draws choices and reads golden files"},
	{dir: "engine/enginetest/replay",
		ours:   []string{"engine/..."},
		remedy: "only tests import it: it keeps the inputs of a run and replays them"},
	{dir: "engine/flight", core: true,
		ours:   []string{"engine/..."},
		third:  []string{"github.com/klauspost/compress/s2"},
		remedy: "recordings know runs and how they are packed: where they are stored, process says"},
	{dir: "engine/anchor", core: true,
		ours:   []string{"engine"},
		third:  []string{"github.com/smallstep/pkcs7"},
		remedy: "receipts know how time stamps are signed: where witnesses and seals are, process says"},
	{dir: "engine/snapshot", // not core: it writes values by their layout, with unsafe
		ours:   []string{"engine"},
		remedy: "the codec knows no value: the caller lists the types"},
	{dir: "engine/monotonic",
		remedy: "it makes times with a monotonic reading, for which it needs unsafe, and nothing else"},
	{dir: "engine/...", core: true,
		ours: []string{"engine/..."},
		remedy: "the core is pure Go on the standard library: let the caller bring the value in with the event, or ask " +
			"for it with an effect"},
	{dir: "engine/promise", core: true,
		ours: []string{"engine", "engine/attempt", "engine/campaign", "engine/contact", "engine/pacing", "engine/tally",
			"engine/window"},
		remedy: "the judge of the promises knows rows, settings and figures, and nobody who decides: " +
			"tell it what happened with a fact"},
	{dir: "engine/number", core: true,
		ours:   []string{"engine/..."},
		third:  []string{"github.com/nyaruka/phonenumbers"},
		remedy: "the core is pure Go on the standard library and phonenumbers"},
	{dir: "engine/contactlist", core: true,
		ours:   []string{"engine/..."},
		third:  []string{"golang.org/x/text/encoding/charmap"},
		remedy: "a list is read from bytes: where they come from, the caller knows"},

	{dir: "engine/holidays", core: true,
		ours:   []string{"engine", "engine/window"},
		third:  []string{"github.com/rickar/cal/v2", "github.com/teambition/rrule-go"},
		remedy: "holidays are dates: which calendars have them, engine/calendar says"},

	// The tree of actors: each package knows those below it and never the top one.
	{dir: "actors",
		ours: []string{"engine/...", "actors/call", "actors/campaign", "actors/dialout", "actors/fleet", "actors/host",
			"actors/lease", "actors/number", "actors/ports", "actors/trunk", "actors/writer"},
		third:  []string{"github.com/asynkron/protoactor-go", "github.com/rs/zerolog"},
		remedy: "actors puts the tree together and knows no adapter and no cluster: take what it needs through actors.Ports"},
	{dir: "actors/host",
		ours:   []string{"engine"},
		third:  []string{"github.com/asynkron/protoactor-go", "github.com/rs/zerolog"},
		remedy: "host runs any actor and knows none: what an actor needs is a value of the caller's"},
	{dir: "actors/ports",
		ours:   []string{"engine/..."},
		remedy: "ports says in engine's words what calls need of the world: it has no code and no third party"},
	{dir: "actors/lease",
		ours:   []string{"engine/..."},
		remedy: "lease has the rules and messages that trunk, number and fleet share: it knows no actor"},
	{dir: "actors/writer",
		ours:   []string{"engine/...", "actors/host"},
		third:  []string{"github.com/asynkron/protoactor-go", "github.com/rs/zerolog"},
		remedy: "a writer does not know who writes: the answer goes to the sender that the message names"},
	{dir: "actors/number",
		ours:   []string{"engine/...", "actors/cluster/link", "actors/host", "actors/lease"},
		third:  []string{"github.com/asynkron/protoactor-go"},
		remedy: "who owns a number does not know who calls from it: take a function or a PID in Deps"},
	{dir: "actors/trunk",
		ours:   []string{"engine/...", "actors/cluster/link", "actors/host", "actors/lease"},
		third:  []string{"github.com/asynkron/protoactor-go"},
		remedy: "who owns a trunk does not know who calls over it: take a function or a PID in Deps"},
	{dir: "actors/fleet",
		ours:   []string{"engine/...", "actors/cluster/link", "actors/host", "actors/lease"},
		third:  []string{"github.com/asynkron/protoactor-go"},
		remedy: "who owns the seats does not know who takes them: take a function or a PID in Deps"},
	{dir: "actors/call",
		ours:  []string{"engine/...", "actors/host", "actors/ports", "actors/fleet", "actors/trunk"},
		third: []string{"github.com/asynkron/protoactor-go"},
		remedy: "a call's shell knows trunks and bots, not whether a campaign or a dialout has it: that passes its own " +
			"effects in"},
	{dir: "actors/dialout",
		ours: []string{"engine/...", "actors/host", "actors/writer", "actors/number", "actors/trunk", "actors/fleet",
			"actors/call"},
		third:  []string{"github.com/asynkron/protoactor-go"},
		remedy: "calls outside campaigns know nothing of campaigns: take a function in Deps"},
	{dir: "actors/campaign",
		ours: []string{"engine/...", "actors/host", "actors/writer", "actors/number", "actors/trunk", "actors/fleet",
			"actors/call"},
		third:  []string{"github.com/asynkron/protoactor-go"},
		remedy: "campaigns know nothing of the calls outside them: take a function in Deps"},
	{dir: "actors/actortest",
		ours:   []string{"engine/...", "actors/..."},
		third:  []string{"github.com/asynkron/protoactor-go"},
		remedy: "only tests import it: it is the world around a tree, and what makes its actors fault"},
	{dir: "actors/inventory",
		ours:   []string{"engine/...", "actors/ports", "actors/host"},
		third:  []string{"github.com/rs/zerolog"},
		remedy: "whose a call is says a function in Config: what is found is told by a word of engine"},
	{dir: "actors/cluster/gateway",
		ours:   []string{"engine/...", "actors/ports", "actors/host", "actors/inventory", "actors/cluster/link"},
		third:  []string{"github.com/rs/zerolog"},
		remedy: "the gateway stands in front of the ports of calls: it knows them and no actor"},
	{dir: "actors/cluster/link",
		ours:   []string{"engine/..."},
		third:  []string{"github.com/rs/zerolog"},
		remedy: "the link knows neither what is said nor what carries frames: let the caller describe it and bring that"},
	{dir: "actors/cluster/placement",
		ours:   []string{"engine/...", "actors/cluster/link"},
		remedy: "who carries a call is engine/placement's rule; here nodes only tell each other what they can carry"},
	{dir: "actors/cluster/sharedcaps",
		ours:   []string{"engine/...", "actors/cluster/link"},
		third:  []string{"github.com/rs/zerolog"},
		remedy: "who keeps a count does not know what is counted: the tree has that"},
	{dir: "actors/cluster/routing",
		ours:   []string{"engine/...", "actors/cluster/link"},
		third:  []string{"github.com/rs/zerolog"},
		remedy: "routing knows the tree and the nodes by the interfaces that it declares"},
	{dir: "actors/...",
		ours:   []string{"engine/..."},
		third:  []string{"github.com/asynkron/protoactor-go", "github.com/rs/zerolog"},
		remedy: "what belongs to the cluster knows the tree by interfaces of its own: process connects the two"},

	{dir: "actors/cluster",
		ours: []string{"engine/...", "actors/..."},
		third: []string{"github.com/asynkron/protoactor-go", "github.com/rs/zerolog",
			"google.golang.org/grpc", "google.golang.org/protobuf", // settings of protoactor's remote, and its messages
			"go.etcd.io/etcd/client", "go.uber.org/zap", // membership by etcd; zap to silence its client
			"github.com/labstack/echo"}, // to silence protoactor's automanaged provider
		remedy: "the cluster reaches the database through its port Owners"},

	{dir: "sipstack", // a new package below needs a row of its own
		ours: []string{"engine", "sipstack/..."},
		third: []string{"github.com/rs/zerolog",
			"github.com/emiago/sipgo", // far sides, in tests
			"golang.org/x/net"},       // a DNS server, in tests
		remedy: adapterRemedy},
	{dir: "sipstack/message",
		ours: []string{"engine"}, third: []string{"github.com/emiago/sipgo"},
		remedy: "the text of messages knows no sockets, trunks or legs: take what is to be written as a parameter"},
	{dir: "sipstack/timing",
		ours: []string{"engine"}, third: []string{"golang.org/x/sys"}, // the boot-time clock
		remedy: "clocks and timer values know nobody that uses them"},
	{dir: "sipstack/auth",
		ours: []string{"sipstack/message"},
		third: []string{"github.com/emiago/sipgo",
			"github.com/icholy/digest"}, // answers to digest challenges, sipgo's own choice
		remedy: "credentials answer a challenge for a method and a URI; whose request it is, its sender knows"},
	{dir: "sipstack/transport",
		ours: []string{"sipstack/message"}, third: []string{"github.com/emiago/sipgo", "github.com/rs/zerolog"},
		remedy: "sockets hand every message to a function and ask another one whose an address is: Sockets.Serve"},
	{dir: "sipstack/trunk",
		ours:   []string{"engine", "sipstack/auth", "sipstack/message", "sipstack/timing", "sipstack/transport"},
		third:  []string{"github.com/emiago/sipgo", "github.com/rs/zerolog"},
		remedy: "a trunk knows no calls: what a leg needs of it is a method of Trunk"},
	{dir: "sipstack/ladder",
		ours: []string{"engine", "sipstack/message", "sipstack/timing"}, third: []string{"github.com/emiago/sipgo"},
		remedy: "the ladder keeps messages; what they mean, the leg knows"},
	{dir: "sipstack/leg",
		ours: []string{"engine", "sipstack/auth", "sipstack/ladder", "sipstack/message", "sipstack/timing",
			"sipstack/transport", "sipstack/trunk"},
		third:  []string{"github.com/emiago/sipgo", "github.com/rs/zerolog"},
		remedy: "legs are told who listens and who negotiates media: leg.Config"},
	{dir: "media/codec",
		ours:   []string{"engine", "media/g711"},
		remedy: "a codec knows bytes and samples: what they are of, the caller knows"},
	{dir: "media/conceal",
		ours:   []string{"media/codec", "media/g711"},
		remedy: "what was lost is made of what was heard: the caller brings the frames"},
	{dir: "media/jitter",
		remedy: "the jitter buffer knows sequence numbers alone: what is in order goes to a function"},
	{dir: "media/sdp",
		ours:   []string{"media/codec"},
		third:  []string{"github.com/pion"}, // its suites; in tests a second SDP parser
		remedy: "a description is text: whose it is, and what follows from it, the call knows"},
	{dir: "media/srtp",
		ours:   []string{"media/sdp"},
		third:  []string{"github.com/pion"},
		remedy: "SRTP knows packets and keys: whose they are, the call knows"},
	{dir: "media/demux",
		ours:   []string{"engine", "media/codec"},
		remedy: "whose a packet is is decided without a socket, a clock or a call: pass what it needs"},
	{dir: "media/datagram",
		third:  []string{"golang.org/x/sys"},
		remedy: "datagrams are bytes and addresses here"},
	{dir: "media/...",
		ours: []string{"engine", "media/..."},
		third: []string{"github.com/pion", "github.com/fasthttp/websocket", "github.com/rs/zerolog",
			"golang.org/x/net", "golang.org/x/sys"}, // batched reads and writes of sockets
		remedy: adapterRemedy},
	{dir: "http/...",
		ours: []string{"engine/...", "http/..."},
		third: []string{"github.com/valyala/fasthttp", "github.com/fasthttp/router", "github.com/fasthttp/websocket",
			"github.com/rs/zerolog", "github.com/golang-jwt/jwt", "github.com/prometheus/client_golang",
			"golang.org/x/crypto", // argon2id
			"golang.org/x/time"},  // rate limits of keys
		remedy: "http reaches the rest through the interfaces that its packages declare themselves, joined in http/ports.go"},
	{dir: "http/form",
		ours:   []string{"engine/..."},
		remedy: "form reads JSON and its fields: it knows no request"},
	{dir: "http/memory",
		ours:   []string{"engine"},
		remedy: "memory remembers what it is given a function for"},
	{dir: "http/wire",
		ours:   []string{"engine/...", "http/form"},
		third:  []string{"github.com/valyala/fasthttp", "github.com/rs/zerolog", "github.com/prometheus/client_golang"},
		remedy: "wire is what every resource needs of a request: it knows no resource, and not who may send it"},
	{dir: "http/access",
		ours: []string{"engine", "http/form", "http/memory", "http/wire"},
		third: []string{"github.com/rs/zerolog", "github.com/golang-jwt/jwt", "github.com/prometheus/client_golang",
			"github.com/coreos/go-oidc", "golang.org/x/oauth2", // log-in by an identity provider
			"golang.org/x/crypto", // argon2id
			"golang.org/x/time"},  // rate limits of keys
		remedy: "access says who sends a request: it knows no other resource"},
	{dir: "http/idempotency",
		ours: []string{"engine/...", "http/wire"}, third: []string{"github.com/prometheus/client_golang"},
		remedy: "idempotency repeats an answer: what a request does is its caller's function"},
	{dir: "http/download",
		ours: []string{
			"engine/...",
			"http/wire",
		}, third: []string{"github.com/valyala/fasthttp", "github.com/prometheus/client_golang"},
		remedy: "download sends rows and archives: what is in them is its caller's function"},
	{dir: "http/live",
		ours:   []string{"engine/...", "http/access", "http/campaigns", "http/form", "http/wire"},
		third:  []string{"github.com/prometheus/client_golang"},
		remedy: "live shows campaigns as package campaigns writes them: another resource brings a function"},
	{dir: "http/campaigns",
		ours:   []string{"engine/...", "http/form", "http/memory", "http/telephony", "http/wire"},
		third:  []string{"github.com/valyala/fasthttp"},
		remedy: resourceRemedy},
	{dir: "http/contacts", // an attempt in a contact's trail looks like a call
		ours: []string{"engine/...", "http/calls", "http/download", "http/form", "http/idempotency", "http/live",
			"http/wire"},
		remedy: resourceRemedy},
	{dir: "http/exclusions",
		ours:   []string{"engine/...", "http/download", "http/form", "http/idempotency", "http/wire"},
		remedy: resourceRemedy},
	{dir: "http/calls",
		ours:   []string{"engine/...", "http/access", "http/form", "http/idempotency", "http/wire"},
		third:  []string{"github.com/valyala/fasthttp"},
		remedy: resourceRemedy},
	{dir: "http/amd",
		ours:   []string{"engine/...", "http/download", "http/form", "http/wire"},
		remedy: resourceRemedy},
	{dir: "http/reports",
		ours:   []string{"engine/...", "http/download", "http/form", "http/wire"},
		remedy: resourceRemedy},
	{dir: "http/telephony",
		ours:   []string{"engine/...", "http/form", "http/wire"},
		remedy: resourceRemedy},
	{dir: "http/webhooks",
		ours:   []string{"engine/...", "http/form", "http/wire"},
		remedy: resourceRemedy},
	{dir: "persistence",
		ours: []string{"engine/...", "persistence/..."},
		third: []string{"github.com/jackc/pgx", "github.com/pressly/goose", "github.com/riverqueue/river",
			"github.com/rs/zerolog"},
		remedy: adapterRemedy},
	{dir: "persistence/failure",
		ours: []string{"engine"}, third: []string{"github.com/jackc/pgx"},
		remedy: "what an error means is known without any of our tables: let the caller add what it was doing"},
	{dir: "persistence/column",
		ours: []string{"engine"}, third: []string{"github.com/jackc/pgx"},
		remedy: "the binary form knows no struct that is stored: its columns belong to persistence/table"},
	{dir: "persistence/sealed",
		ours:   []string{"engine", "persistence/failure"},
		remedy: "keys are kept from the database: who stores what is sealed passes the text"},
	{dir: "persistence/pool",
		ours: []string{"engine", "engine/campaign", // the page of a list
			"persistence/failure", "persistence/migrations", "persistence/sealed"},
		third:  []string{"github.com/jackc/pgx", "github.com/rs/zerolog"},
		remedy: "connections know no table: put the statement into the package of its noun"},
	{dir: "persistence/table",
		ours: []string{
			"engine/...",
			"persistence/column",
			"persistence/failure",
			"persistence/pool",
			"persistence/sealed",
		},
		third:  []string{"github.com/jackc/pgx"},
		remedy: "the mapping of a struct serves every noun: put the query into the package of its noun"},
	{dir: "persistence/storetest",
		ours: []string{
			"engine/...",
			"persistence/...",
		}, third: []string{"github.com/jackc/pgx", "github.com/rs/zerolog"},
		remedy: "only tests import it: it holds a store against its promises"},
	{dir: "persistence/contacts",
		ours: []string{
			"engine/...",
			"persistence/column",
			"persistence/failure",
			"persistence/pool",
			"persistence/table",
			"persistence/commit",
			"persistence/history",
		}, // the reply stored with rows; why an erased person is excluded
		third:  []string{"github.com/jackc/pgx"},
		remedy: nounRemedy},
	{dir: "persistence/history",
		ours: []string{
			"engine/...",
			"persistence/column",
			"persistence/failure",
			"persistence/pool",
			"persistence/table",
			"persistence/recordings", // those of an erased person
			"persistence/spine",
		}, // what is dropped and erased is told to it
		third:  []string{"github.com/jackc/pgx"},
		remedy: nounRemedy},
	{dir: "persistence/...", // never persistence itself, nor one noun another
		ours: []string{
			"engine/...",
			"persistence/column",
			"persistence/failure",
			"persistence/pool",
			"persistence/sealed",
			"persistence/table",
		},
		third: []string{"github.com/jackc/pgx", "github.com/riverqueue/river", "github.com/rs/zerolog",
			"golang.org/x/sys"}, // users and sessions of the private server
		remedy: nounRemedy},

	{dir: "docs", // the test that draws docs/state-machines.md
		ours:   []string{"engine/..."},
		remedy: "docs holds pages and what generates them from the core"},
	{dir: "deploy", // tests of units, charts and alerts
		third:  []string{anything},
		remedy: "deploy holds files of other tools and their tests"},
	{dir: "deploy/release", // a module of its own
		third:  []string{anything},
		remedy: "what makes releases compiles the dialler and shares no code with it"},
	{dir: "bench/carrier",
		ours: []string{"engine", "bench/..."},
		third: []string{"github.com/pion/rtp", "github.com/rs/zerolog",
			"golang.org/x/sys"}, // the kernel's timestamps of datagrams
		remedy: "the carrier judges the dialler and shares no code with it"},
	{dir: "bench/carrier/media",
		ours: []string{"bench/pace", "bench/voice"}, third: []string{"github.com/pion/rtp"},
		remedy: "the audio of a callee knows no calls: tell the Stream what is said, and when"},
	{dir: "bench/...", // bench/lab is a module of its own, which the dialler cannot import
		ours: []string{anything}, third: []string{anything},
		remedy: "nobody imports main: what both need belongs in a package of its own"},
}

// testOurs and testThird are what any test file may import in addition to its folder's rule;
// testOursOf and testThirdOf apply to one folder.
var (
	testOurs   = []string{"bench/..."}
	testOursOf = map[string][]string{
		"engine": {"persistence/storetest"}, // the guarantees memstore shares with PostgreSQL
		// The store of the actor tests is checked too; whole trees are run.
		"actors":      {"persistence/storetest", "actors/actortest", "actors/cluster/gateway", "actors/cluster/link"},
		"persistence": {"persistence/..."},       // the whole store
		"process":     {"command", "actors/..."}, // the test binary acts as the program on request
	}
	testThird   = []string{"pgregory.net/rapid", "go.uber.org/goleak"}
	testThirdOf = map[string][]string{
		"actors": {
			"google.golang.org/protobuf",
			"github.com/asynkron/protoactor-go",
			"github.com/rs/zerolog",
		}, // messages of protoactor's remote; the log of a system that a test makes
		"http": {
			"github.com/getkin/kin-openapi",
		}, // answers against openapi.yaml
		"process": {
			"github.com/getkin/kin-openapi",
			"github.com/jackc/pgx",
			"github.com/fasthttp/websocket",
			"github.com/standard-webhooks/standard-webhooks",
		}, // rows behind the dialler's back; a bot of the test's own
	}
)

// What the core must not do, and what to do instead, in non-test files.
var (
	coreImports = map[string]string{
		"os":            "files and the environment belong to process and the adapters",
		"os/...":        "processes and signals belong to command",
		"syscall":       "the operating system belongs to the adapters",
		"unsafe":        "the core has no need of it",
		"net":           "sockets belong to the adapters; net/netip and net/url are allowed",
		"net/...":       "protocols belong to the adapters; net/netip and net/url are allowed",
		"log":           "return an effect or an error; the caller logs",
		"log/...":       "return an effect or an error; the caller logs",
		"math/rand":     "let the random value come in with the event",
		"math/rand/...": "let the random value come in with the event",
		"crypto/rand":   "let identifiers and random values come in with the event",
	}
	coreImportsAllowed = []string{"net/netip", "net/url"}

	coreTime = []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "Sleep", "NewTimer", "NewTicker"}

	corePrint = []string{"Print", "Printf", "Println"}
)

func TestImportsObeyTheTable(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			base := d.Name()
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "node_modules" ||
				base == "testdata" || base == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		seen[path.Dir(name)] = true
		for _, v := range checkFile(name, source) {
			t.Error(v)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("cannot read the tree: %v", err)
	}
	// A checker that looks in the wrong folder finds nothing.
	for _, dir := range []string{".", "engine", "actors"} {
		if !seen[dir] {
			t.Errorf("no Go file of %q was checked; was the test started in the root of the module?", dir)
		}
	}
}

// checkFile gives the violations in one file, each with its place, the rule
// and the remedy.
func checkFile(name string, source []byte) []string {
	dir := path.Dir(name)
	isTest := strings.HasSuffix(name, "_test.go")
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{fmt.Sprintf("%s: does not parse: %v", name, err)}
	}
	rule, ok := ruleOf(dir)
	if !ok {
		return []string{fmt.Sprintf("%s:1: folder %s has no rule: add a row to importRules in imports_test.go and to "+
			"docs/architecture.md", name, dir)}
	}

	var found []string
	report := func(p token.Pos, what, remedy string) {
		at := files.Position(p)
		found = append(found, fmt.Sprintf("%s:%d: %s: %s", at.Filename, at.Line, what, remedy))
	}

	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		switch own, ok := ownPackage(imported); {
		case ok:
			allowed := rule.ours
			if isTest {
				allowed = slices.Concat(allowed, testOurs, testOursOf[topOf(dir)],
					[]string{dir}) // a test may be a package of its own
				if rule.core {
					allowed = append(allowed, "engine/...") // a test may use the whole core
				}
			}
			if !matchAny(allowed, own) {
				report(spec.Pos(), fmt.Sprintf("%s may not import %s", dir, imported), rule.remedy)
			}
		case isThirdParty(imported):
			allowed := rule.third
			if isTest {
				allowed = slices.Concat(allowed, testThird, testThirdOf[topOf(dir)])
			}
			if !slices.ContainsFunc(allowed, func(m string) bool { return m == anything || within(m, imported) }) {
				report(spec.Pos(), fmt.Sprintf("%s may not import %s", dir, imported),
					"see the table of importRules; a new dependency needs its three lines in docs/adr/0009-dependencies.md")
			}
		case rule.core && !isTest:
			if remedy, banned := coreBan(imported); banned {
				report(spec.Pos(), fmt.Sprintf("the core may not import %s", imported), remedy)
			}
		}
	}
	if rule.core && !isTest {
		checkCore(file, report)
	}
	return found
}

// checkCore looks for the clock, printing, goroutines and channels.
func checkCore(file *ast.File, report func(p token.Pos, what, remedy string)) {
	names := map[string]string{} // import name in this file → its path
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			report(spec.Pos(), "the core may not import with a dot", "name the package, so that its use can be seen")
		}
		names[name] = imported
	}
	const (
		clock       = "time comes in with the event, as a parameter named now"
		concurrency = "concurrency belongs to actors"
	)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			switch imported := names[x.Name]; {
			case imported == "time" && slices.Contains(coreTime, n.Sel.Name):
				report(n.Pos(), "the core may not use time."+n.Sel.Name, clock)
			case imported == "fmt" && slices.Contains(corePrint, n.Sel.Name):
				report(n.Pos(), "the core may not use fmt."+n.Sel.Name, "return an effect or an error")
			}
		case *ast.GoStmt:
			report(n.Pos(), "the core may not start a goroutine", concurrency)
		case *ast.ChanType:
			report(n.Pos(), "the core may not use channels", concurrency)
		case *ast.SendStmt:
			report(n.Pos(), "the core may not send on a channel", concurrency)
		case *ast.SelectStmt:
			report(n.Pos(), "the core may not select", concurrency)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n.Pos(), "the core may not receive from a channel", concurrency)
			}
		}
		return true
	})
}

// ruleOf returns the rule of a folder: its own, otherwise that of the nearest parent whose rule
// covers subfolders.
func ruleOf(dir string) (importRule, bool) {
	for _, r := range importRules {
		if r.dir == dir {
			return r, true
		}
	}
	best, ok := importRule{}, false
	for _, r := range importRules {
		above, covers := strings.CutSuffix(r.dir, "/...")
		if covers && within(above, dir) && len(r.dir) > len(best.dir) {
			best, ok = r, true
		}
	}
	return best, ok
}

// ownPackage gives the folder of a package of this module.
func ownPackage(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// isThirdParty says whether the first path element contains a dot, as none in the standard library
// does.
func isThirdParty(imported string) bool {
	return strings.Contains(topOf(imported), ".")
}

func topOf(p string) string {
	top, _, _ := strings.Cut(p, "/")
	return top
}

func within(above, p string) bool {
	return p == above || strings.HasPrefix(p, above+"/")
}

func matchAny(patterns []string, own string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if above, covers := strings.CutSuffix(p, "/..."); covers {
			return within(above, own)
		}
		return p == own || p == anything && own != "." // nobody imports main
	})
}

func coreBan(imported string) (remedy string, banned bool) {
	if slices.Contains(coreImportsAllowed, imported) {
		return "", false
	}
	for _, p := range slices.Sorted(maps.Keys(coreImports)) {
		above, below := strings.CutSuffix(p, "/...")
		if p == imported || below && within(above, imported) {
			return coreImports[p], true
		}
	}
	return "", false
}

// TestImportCheckerFindsViolations proves that the test above can fail.
func TestImportCheckerFindsViolations(t *testing.T) {
	f := func(file, source string, want ...string) {
		t.Helper()
		got := checkFile(file, []byte(source))
		if len(got) != len(want) {
			t.Errorf("%s:\n%s\ngot %d violations, want %d: %q", file, source, len(got), len(want), got)
			return
		}
		for i, w := range want {
			if !strings.HasPrefix(got[i], file+":") || !strings.Contains(got[i], w) {
				t.Errorf("%s: violation %q does not begin with the file or does not say %q", file, got[i], w)
			}
			if rest := strings.SplitN(got[i], ": ", 3); len(rest) != 3 || rest[2] == "" {
				t.Errorf("%s: violation %q has no remedy", file, got[i])
			}
		}
	}
	importing := func(paths ...string) string {
		s := "package p\n"
		for _, p := range paths {
			s += "import _ " + strconv.Quote(p) + "\n"
		}
		return s
	}
	inCore := func(body string) string {
		return "package p\nimport (\n\"fmt\"\n\"time\"\n)\nvar _ = fmt.Sprint\nvar _ time.Time\nfunc f() {\n" + body + "\n}\n"
	}

	// Who knows whom.
	f("engine/errors.go", importing("errors", "time"))
	f("engine/errors.go", importing("dialler/engine/fsm"), "engine may not import dialler/engine/fsm")
	f("engine/fsm/table.go", importing("dialler/engine"), "engine/fsm may not import dialler/engine")
	f("engine/contact/machine.go", importing("dialler/engine", "dialler/engine/fsm", "dialler/engine/attempt"))
	f("engine/contact/machine.go", importing("dialler/actors"), "engine/contact may not import dialler/actors")
	f("engine/contact/machine.go", importing("github.com/nyaruka/phonenumbers"),
		"engine/contact may not import github.com/nyaruka/phonenumbers")
	f("engine/number/parse.go", importing("github.com/nyaruka/phonenumbers", "dialler/engine"))
	f(
		"engine/number/parse.go",
		importing("github.com/rs/zerolog"),
		"engine/number may not import github.com/rs/zerolog",
	)
	f(
		"actors/tree.go",
		importing("dialler/actors/campaign", "github.com/asynkron/protoactor-go/actor", "github.com/rs/zerolog"),
	)
	f("actors/tree.go", importing("dialler/sipstack"), "actors may not import dialler/sipstack")
	f(
		"actors/campaign/run.go",
		importing("dialler/engine/run", "dialler/actors/trunk", "github.com/asynkron/protoactor-go/actor"),
	)
	f("actors/campaign/run.go", importing("dialler/actors"), "actors/campaign may not import dialler/actors")
	f(
		"actors/campaign/run.go",
		importing("dialler/actors/dialout"),
		"actors/campaign may not import dialler/actors/dialout",
	)
	f(
		"actors/number/pool.go",
		importing("dialler/actors/campaign"),
		"actors/number may not import dialler/actors/campaign",
	)
	f("actors/cluster/lookup.go", importing("dialler/actors", "github.com/asynkron/protoactor-go/cluster"))
	f("actors/cluster/lookup.go", importing("dialler/persistence"), "actors/cluster may not import dialler/persistence")
	f("actors/cluster/wire.go", importing("google.golang.org/grpc/keepalive", "go.etcd.io/etcd/client/v3"))
	f("actors/cluster/link/link.go", importing("dialler/actors"), "actors/cluster/link may not import dialler/actors")
	f(
		"actors/cluster/gateway/route.go",
		importing("google.golang.org/grpc"),
		"actors/cluster/gateway may not import google.golang.org/grpc",
	)
	f("actors/run.go", importing("google.golang.org/grpc"), "actors may not import google.golang.org/grpc")
	f("sipstack/leg.go", importing("dialler/engine", "github.com/emiago/sipgo/sip"))
	f("sipstack/leg.go", importing("dialler/engine/attempt"), "sipstack may not import dialler/engine/attempt")
	f("sipstack/leg.go", importing("dialler/media"), "sipstack may not import dialler/media")
	f("sipstack/stack.go", importing("dialler/sipstack/leg", "dialler/sipstack/trunk"))
	f("sipstack/leg/leg.go", importing("dialler/sipstack"), "sipstack/leg may not import dialler/sipstack")
	f(
		"sipstack/trunk/trunk.go",
		importing("dialler/sipstack/leg"),
		"sipstack/trunk may not import dialler/sipstack/leg",
	)
	f("sipstack/dns/dns.go", importing("net"), "folder sipstack/dns has no rule")
	f("media/amd/frame.go", importing("dialler/media", "github.com/pion/rtp"))
	f("media/amd/frame.go", importing("dialler/sipstack"), "media/amd may not import dialler/sipstack")
	f("media/port.go", importing("github.com/emiago/sipgo"), "media may not import github.com/emiago/sipgo")
	f("http/server.go", importing("net/http", "os", "dialler/engine/campaign", "github.com/valyala/fasthttp",
		"github.com/golang-jwt/jwt/v5"))
	f("http/server.go", importing("dialler/actors", "dialler/persistence"), "dialler/actors", "dialler/persistence")
	f("http/server.go", importing("github.com/jackc/pgx/v5"), "http may not import github.com/jackc/pgx/v5")
	f("http/server.go", importing("dialler/http/calls", "dialler/http/wire"))
	f("http/wire/request.go", importing("dialler/http", "dialler/http/access"),
		"http/wire may not import dialler/http", "http/wire may not import dialler/http/access")
	f("http/calls/calls.go", importing("dialler/http/campaigns"), "http/calls may not import dialler/http/campaigns")
	f("persistence/store.go", importing("dialler/engine/journal", "github.com/jackc/pgx/v5/pgxpool"))
	f(
		"persistence/lists/calls.go",
		importing("dialler/persistence"),
		"persistence/lists may not import dialler/persistence",
	)
	f(
		"persistence/lists/calls.go",
		importing("dialler/persistence/commit"),
		"persistence/lists may not import dialler/persistence/commit",
	)
	f("persistence/private/server.go", importing("dialler/actors"), "persistence/private may not import dialler/actors")
	f("bench/carrier/carrier.go", importing("dialler/engine", "dialler/bench/draw", "github.com/pion/rtp"))
	f("actors/run.go", importing("dialler/bench/draw"), "actors may not import dialler/bench/draw")
	f("main.go", importing("os", "dialler/command"))
	f("main.go", importing("dialler/actors", "github.com/alecthomas/kong"), ". may not import dialler/actors",
		". may not import github.com/alecthomas/kong")
	f("command/bench.go", importing("dialler/process", "dialler/bench/bot", "github.com/alecthomas/kong"))
	f("command/bench.go", importing("dialler/sipstack"), "command may not import dialler/sipstack")
	f("process/process.go", importing("dialler/actors", "dialler/http", "dialler/sipstack", "dialler/persistence/spool"))
	f("process/process.go", importing("dialler/command", "dialler/bench/bot"), "process may not import dialler/command",
		"process may not import dialler/bench/bot")
	f("actors/run.go", importing("dialler/process"), "actors may not import dialler/process")
	f("process/main_test.go", importing("dialler/command", "dialler/bench/bot", "github.com/jackc/pgx/v5"))
	f("bench/carrier/carrier.go", importing("dialler"), "bench/carrier may not import dialler")
	f("common/strings.go", importing("strings"), "folder common has no rule")
	f("engine/broken.go", "package", "does not parse")

	// Test files may use test libraries and the world model, nothing else.
	f("engine/contact/machine_test.go", importing("os", "math/rand/v2", "pgregory.net/rapid", "go.uber.org/goleak"))
	f("sipstack/leg_test.go", importing("dialler/sipstack", "dialler/bench/carrier"))
	f("engine/fsm/table_test.go", importing("dialler/engine/fsm"))
	f("engine/diagrams_test.go", importing("dialler/engine/attempt", "dialler/engine/fsm"))
	f("engine/diagrams_test.go", importing("dialler/actors"), "engine may not import dialler/actors")
	f("http/contract_test.go", importing("github.com/getkin/kin-openapi/openapi3"))
	f("http/contract.go", importing("github.com/getkin/kin-openapi/openapi3"),
		"http may not import github.com/getkin/kin-openapi")
	f("actors/run_test.go", importing("github.com/getkin/kin-openapi/openapi3"),
		"actors may not import github.com/getkin/kin-openapi")
	f("media/port_test.go", importing("dialler/sipstack"), "media may not import dialler/sipstack")
	f("engine/window/window.go", importing("pgregory.net/rapid"), "engine/window may not import pgregory.net/rapid")

	// What the core must not do.
	for _, p := range []string{"os", "os/exec", "os/signal", "net", "net/http", "log", "log/slog", "math/rand",
		"math/rand/v2", "crypto/rand", "syscall", "unsafe"} {
		f("engine/contact/machine.go", importing(p), "the core may not import "+p)
	}
	f("engine/campaign/settings.go", importing("net/url", "net/netip", "math", "sync"))
	for _, name := range coreTime {
		f("engine/pacing/gate.go", inCore("_ = time."+name), "the core may not use time."+name)
	}
	f("engine/pacing/gate.go", "package p\nimport clock \"time\"\nvar _ = clock.Now()\n", "time.Now")
	f("engine/pacing/gate.go", "package p\nimport . \"time\"\nvar _ = Now()\n", "dot")
	f("engine/pacing/gate.go", inCore("var at time.Time; _ = at.After(at); _ = time.Unix(0, 0)"))
	f("engine/pacing/gate.go", inCore(`fmt.Println("x")`), "fmt.Println")
	f("engine/pacing/gate.go", inCore("go f()"), "goroutine")
	f("engine/pacing/gate.go", inCore("_ = make(chan int)"), "channels")
	f("engine/pacing/gate.go", inCore("var c any; c <- 1"), "send on a channel")
	f("engine/pacing/gate.go", inCore("var c any; <-c"), "receive from a channel")
	f("engine/pacing/gate.go", inCore("select {}"), "select")
	f("engine/pacing/gate_test.go", inCore("go f(); _ = time.Now(); select {}"))
	f("actors/run.go", inCore("go f(); _ = time.Now(); fmt.Println()"))
}
