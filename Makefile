# Every target but help runs setup first, which is quick when nothing is missing.

RELEASE_BIN = .build/release
# What is shown once need not be fast: without the optimizer it is built in a third of the time.
QUICK_BUILD = --scratch-path .build/demo --disable-index-store -debug-info-format none
FORMATTED = $(wildcard Sources Plugins Tests Examples Snippets Package.swift)

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-cluster demo-directory demo-cards web soak test vectors sim sim-soak bench bench-compare conformance faults docs lint format deb

help: ## show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing
	@Scripts/setup.sh

demo: setup ## three devices, no network, two kill -9: everything arrives once, and all agree
	swift build $(QUICK_BUILD) --product holdfast
	swift build $(QUICK_BUILD) --product jot
	HOLDFAST_BIN=.build/demo/debug Scripts/demo.sh

demo-cluster: setup ## three nodes on PostgreSQL, 200 devices, kills and restarts: everything arrives once, and all agree
	@Scripts/setup.sh haproxy
	swift build -c release --product holdfast
	swift build -c release --product fleet
	HOLDFAST_BIN=$(RELEASE_BIN) Scripts/demo-cluster.sh

demo-directory: setup ## four databases of one directory, lists that move between them, kills: everything arrives once, and all agree; SEED=N, DURATION=SECONDS
	swift build -c release --product holdfast
	swift build -c release --product fleet
	$(if $(SEED),SEED=$(SEED)) $(if $(DURATION),DURATION=$(DURATION)) HOLDFAST_BIN=$(RELEASE_BIN) Scripts/demo-directory.sh

demo-cards: setup ## flash cards: a shipped catalogue, two people offline, a conflict, sharing
	swift build $(QUICK_BUILD) --product holdfast
	swift build $(QUICK_BUILD) --product cards
	HOLDFAST_BIN=.build/demo/debug Examples/Cards/demo.sh

web: setup ## Jot on the web at http://127.0.0.1:8080 until Ctrl-C; DATA=FOLDER for another database, PORT=N
	swift build $(QUICK_BUILD) --product holdfast
	.build/demo/debug/holdfast serve --schema Examples/Jot/holdfast.json --web Examples/JotWeb \
	  --data $(or $(DATA),.build/web) --listen 127.0.0.1:$(or $(PORT),8080)

soak: setup ## an hour of kills, a full disk, a slow database and 5,000 idle streams: nothing is lost, and memory is flat; MINUTES=N, STREAMS=N
	@Scripts/setup.sh nodejs
	swift build -c release --product holdfast
	swift build -c release --product jot
	HOLDFAST_BIN=$(abspath $(RELEASE_BIN)) MINUTES=$(or $(MINUTES),60) $(if $(STREAMS),STREAMS=$(STREAMS)) Scripts/soak.sh

test: lint ## run all tests, on SQLite and on PostgreSQL; FILTER=NAME runs those with the name
	@Scripts/setup.sh pgbouncer nginx haproxy nodejs chromium-headless-shell tmux python3-venv
	@Scripts/test.sh $(FILTER)

vectors: setup ## write Tests/Vectors again, with which clients in other languages are tested
	swift build --build-tests
	HOLDFAST_WRITE_VECTORS=1 .build/debug/holdfastPackageTests.xctest --testing-library swift-testing --filter 'HoldfastCoreTests\.VectorTests'

sim: setup ## simulate one run, with all that happens: SEED=N STEPS=N; KEEP=N,N leaves out all other commands; WIDE=yes restores the server too, and renames
	swift build -c release --product simulate
	$(RELEASE_BIN)/simulate --verbose $(if $(SEED),--seed $(SEED)) $(if $(STEPS),--steps $(STEPS)) $(if $(KEEP),--keep $(KEEP)) $(if $(WIDE),--wide)

sim-soak: setup ## simulate the scenarios, then one seed after the other for MINUTES=N (10 unless given), and count the transitions taken
	swift build -c release --product simulate
	$(RELEASE_BIN)/simulate --scenarios --coverage --wide --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

bench: setup ## measure speed, each figure beside its limit; fails when a floor is missed
	swift build -c release --product holdfast
	HOLDFAST_BIN=$(RELEASE_BIN) Scripts/bench.sh
	HOLDFAST_BIN=$(RELEASE_BIN) Scripts/bench-triggers.sh

bench-compare: setup ## measure REV=REVISION and this checkout by turns; PART=PART measures one part, RUNS=N how often
	@Scripts/bench-compare.sh $(REV) $(PART)

deb: setup ## make a Debian package of the server in .build
	@Scripts/setup.sh dpkg-dev
	swift build -c release --static-swift-stdlib --scratch-path .build/static --product holdfast
	Scripts/deb.sh .build/static/release/holdfast .build

conformance: setup ## hold the REST interface against clients of others, and backups against a store of others
	@Scripts/setup.sh python3-venv varnish gcc libc6-dev
	swift build -c release --product holdfast
	HOLDFAST_BIN=$(RELEASE_BIN) Scripts/conformance.sh

faults: setup ## break the product on purpose, and see that the simulation notices
	@Scripts/faults.sh

docs: setup ## write the reference of the public types (DocC) to .build/docs; fails at a warning
	@Scripts/docs.sh

lint: setup ## check the form of the code, the names that an app sees, and that the README shows what is compiled
	@Scripts/readme.sh
	@Scripts/names.sh
	@! grep -rnE '(Locked|Mutex)<.*->' Sources Examples || (echo 'Each access wraps a function once more: make the value a type with a name.' >&2; false)
	swift Scripts/folders.swift Sources
	@Scripts/apple.sh
	swift format lint --strict --parallel --recursive $(FORMATTED)

format: setup ## bring the code into form
	swift format --in-place --parallel --recursive $(FORMATTED)
