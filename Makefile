# SPDX-License-Identifier: Apache-2.0
# Every target does its own set-up; `make help` lists them. The work is in tools/workspace.

PYTHON ?= $(shell sh tools/find-python)
WORKSPACE = exec "$(or $(PYTHON),$(error no usable Python, see above))" -B tools/workspace

ROBOT ?= rx90
SOAK ?= 600
SECONDS ?= 60
PART ?= all

.DEFAULT_GOAL := help
.PHONY: help demo test test-all build lint exact bench truth guards soak fuzz docs shell pins clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: ## tracking with and without feedforward, and a report (ROBOT=rx90, another name, or a URDF file)
	@$(WORKSPACE) demo "$(ROBOT)"

test: ## build, then run the tests under `colcon test`
	@$(WORKSPACE) test

test-all: ## the same, and the tests that take long: storms of messages, long random sequences, mutations
	@$(WORKSPACE) test --all

build: ## set up ROS 2 and build the packages
	@$(WORKSPACE) build

lint: ## ruff, mypy and spelling
	@$(WORKSPACE) lint

exact: ## agreement with Pinocchio for all robots of example-robot-data
	@$(WORKSPACE) exact

bench: ## measure against Pinocchio, MuJoCo and a relay, as ratios in one run (STRICT=1: fail when a bar is missed)
	@$(WORKSPACE) bench $(if $(STRICT),--strict)

truth: ## identification of simulated arms whose parameters are known (RUNS=20: 20 of 200 runs)
	@$(WORKSPACE) truth $(if $(RUNS),--runs $(RUNS))

guards: ## simulated logs with defects, and clean ones: what is named and refused (RUNS=6: 6 of 18 logs each)
	@$(WORKSPACE) guards $(if $(RUNS),--runs $(RUNS))

soak: ## ten minutes of the nodes at 1 kHz: memory, rates, stale data (SOAK=60: one minute)
	@$(WORKSPACE) soak $(SOAK)

fuzz: ## damaged files and hostile messages for readers and nodes (SECONDS=60, PART=readers, SEED=7; see fuzz/README.md)
	@$(WORKSPACE) fuzz "$(PART)" --seconds "$(SECONDS)" $(if $(SEED),--seed "$(SEED)") $(FUZZ)

docs: ## HTML documentation in build/docs
	@$(WORKSPACE) docs

shell: ## a shell in which ROS 2 and the workspace are sourced
	@$(WORKSPACE) shell

pins: ## update the pinned versions in requirements/*.txt
	@$(WORKSPACE) pins

clean: ## remove what was built (keeps the ROS 2 of .venv)
	@$(WORKSPACE) clean

distclean: ## remove everything that the other targets made
	@$(WORKSPACE) distclean
