# The console: how it is built, checked and looked at. The Makefile of the tree includes this file.

CONSOLE       := http/console
CONSOLE_INDEX := $(CONSOLE)/dist/site/index.html
# What npm writes last when it has installed everything.
CONSOLE_LIBRARIES := $(CONSOLE)/node_modules/.package-lock.json
SCHEMA := ../../deps/node node_modules/openapi-typescript/bin/cli.js ../openapi.yaml \
	--default-non-nullable=false --output src/api/schema.ts
PRETTIER := ../../deps/node node_modules/prettier/bin/prettier.cjs --log-level warn

console: $(CONSOLE_INDEX) #: Build the console into http/console/dist, when its sources are newer.

$(CONSOLE_LIBRARIES): $(addprefix $(CONSOLE)/,package.json package-lock.json .npmrc)
	@echo "make console: fetching its libraries" >&2; cd $(CONSOLE) && ../../deps/npm ci --loglevel=error >&2
	@touch $@

$(CONSOLE_INDEX): $(CONSOLE_LIBRARIES) $(addprefix $(CONSOLE)/,index.html vite.config.ts tsconfig.json) \
		$(shell find $(CONSOLE)/src -type f -not -name '*.test.ts' 2>/dev/null)
	@echo "make console: building" >&2; \
		cd $(CONSOLE) && ../../deps/node node_modules/vite/bin/vite.js build --logLevel warn >&2

# The console knows the API by types made from openapi.yaml; they are compared with it in seconds.
console-schema: $(CONSOLE_LIBRARIES)
	@cd $(CONSOLE); $(SCHEMA) --check >&2 || \
		{ echo "$(CONSOLE)/src/api/schema.ts is not what http/openapi.yaml says: make docs writes it anew" >&2; exit 1; }

console-check: $(CONSOLE_LIBRARIES) console-schema #: Check the console: format, types, linters, its logic's tests.
	@cd $(CONSOLE); $(PRETTIER) --check . >&2 || { echo "make console-format mends it" >&2; exit 1; }
	@cd $(CONSOLE); set -ex; \
	for tool in 'typescript/bin/tsc --noEmit' 'eslint/bin/eslint.js .' 'vitest/vitest.mjs run'; do \
		../../deps/node node_modules/$$tool; done

console-format: $(CONSOLE_LIBRARIES) #: Format the console with prettier.
	@cd $(CONSOLE); $(PRETTIER) --write .

console-picture: build #: Take the pictures of README.md and docs/console.md (docs/console*.png) in a model world.
	@deps/node $(CONSOLE)/e2e/shots.mjs $(BIN) docs --pictures

SHOTS ?= bin/shots
console-shots: build #: Screenshots of all pages and dialogs into SHOTS, judged by axe; SHOTS_ONLY=REGEXP takes some.
	@deps/node $(CONSOLE)/e2e/shots.mjs $(BIN) $(SHOTS) $(if $(SHOTS_ONLY),'--only=$(value SHOTS_ONLY)')

console-cost: build #: Measure what 100 open consoles cost the engine, a page the browser; ARGS="--rounds 2", --json.
	@CHROMIUM="$${CHROMIUM:-$$(command -v chromium || command -v chromium-browser || command -v google-chrome)}" \
		$(BIN) bench console --browser "$(CURDIR)/deps/node" --browser $(CURDIR)/$(CONSOLE)/e2e/cost.mjs $(ARGS)
